package trials

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	testharness "placementsync/internal/testing/harness"
)

// This file is a model of power cuts. After a power cut, a disk has the last synced content of each
// file and the last synced names in each folder. Each later change may have survived or not. The
// model records all changes below a folder and creates the folders that a power cut could leave.
//
// The program calls a hook before and after each change of the disk. The model lists the folder at each
// call. It therefore also finds changes without a call, and treats them as not synced. A rename is
// atomic. DuckDB syncs its own files without a call, so after a power cut
// such a file has its newest content or the last content that the program itself has synced.

// object is the number of a file, folder or symbolic link. 0 means no object.
type object int

// inode identifies an object in the file system. It includes the time of creation, because the file
// system can reuse the inode number of a removed object.
type inode struct {
	number uint64
	born   unix.StatxTimestamp
}

// content describes a file at one time: the checksum of its bytes, its modification time and its mode.
type content struct {
	sum  [sha256.Size]byte
	at   time.Time
	mode fs.FileMode
}

// folderName is a name in a folder.
type folderName struct {
	dir  object
	name string
}

// diskState is the state of the folder at one time: the object of each name, and the content of each file.
type diskState struct {
	objects map[folderName]object
	files   map[object]content
}

func (s diskState) clone() diskState {
	return diskState{maps.Clone(s.objects), maps.Clone(s.files)}
}

// nameChange is one creation, rename or removal. It contains the new object of each changed name.
// A removed name has object 0.
type nameChange map[folderName]object

// TracePoint is a time at which the power could fail.
type TracePoint struct {
	Step string
	// synced is the state that survives every power cut.
	synced diskState
	// Pending are the changes of names that are not synced, oldest first.
	Pending []nameChange
	// written is the newest content of all files.
	written map[object]content
	// Acknowledged are the ids of the webhook events that were acknowledged before this time.
	Acknowledged []string
}

// DiskTrace records the changes of a folder.
type DiskTrace struct {
	mu   sync.Mutex
	t    *testing.T
	root string
	// bodies is a folder with the bytes of all recorded contents, in files named by checksum.
	bodies string
	ids    map[inode]object
	kinds  map[object]fs.FileMode
	links  map[object]string
	// paths contains the object at each path in the last listing.
	paths map[string]object
	// newest is the state in the last listing.
	newest, synced diskState
	// written is the newest content of all files, including removed files.
	written map[object]content
	pending []nameChange
	// syncing contains the objects of each running fsync, with their content when the fsync began.
	// The key consists of the name of the step without "before fsync", and the path.
	syncing      map[string]map[object]content
	acknowledged []string
	Points       []TracePoint
}

const rootObject object = 1

// NewDiskTrace starts to record a folder. Its current content counts as synced.
func NewDiskTrace(t *testing.T, root string) *DiskTrace {
	t.Helper()
	d := &DiskTrace{t: t, root: root, bodies: t.TempDir(), kinds: map[object]fs.FileMode{rootObject: fs.ModeDir | 0o755},
		ids: map[inode]object{}, links: map[object]string{}, written: map[object]content{}, syncing: map[string]map[object]content{}}
	d.newest = d.list(diskState{})
	d.synced = d.newest.clone()
	return d
}

// list returns the current state of the folder. It does not read files that have the same size and
// time as in the previous state.
func (d *DiskTrace) list(previous diskState) diskState {
	s := diskState{map[folderName]object{}, map[object]content{}}
	d.paths = map[string]object{d.root: rootObject}
	err := filepath.WalkDir(d.root, func(path string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // removed meanwhile
		}
		if err != nil || path == d.root {
			return err
		}
		info, err := os.Lstat(path)
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		var stat unix.Statx_t
		if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &stat); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		node := inode{stat.Ino, stat.Btime}
		id, ok := d.ids[node]
		if !ok {
			id = object(len(d.ids) + 2)
			d.ids[node] = id
		}
		parent, ok := d.paths[filepath.Dir(path)]
		if !ok {
			return nil
		}
		d.paths[path], d.kinds[id] = id, info.Mode()
		s.objects[folderName{parent, filepath.Base(path)}] = id
		switch {
		case info.Mode().IsRegular():
			known, ok := previous.files[id]
			if !ok || !known.at.Equal(info.ModTime()) || d.sizeOf(known) != info.Size() {
				known = content{d.storeBody(path), info.ModTime(), info.Mode()}
			}
			s.files[id], d.written[id] = known, known
		case info.Mode()&fs.ModeSymlink != 0:
			d.links[id], err = os.Readlink(path)
		}
		return err
	})
	if err != nil {
		d.t.Error(err)
	}
	return s
}

// storeBody copies a file into the folder bodies and returns its checksum.
func (d *DiskTrace) storeBody(path string) (sum [sha256.Size]byte) {
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		d.t.Error(err)
	}
	sum = sha256.Sum256(data)
	body := d.bodyPath(sum)
	if _, err := os.Stat(body); err == nil {
		return sum
	}
	if err := os.WriteFile(body, data, 0o600); err != nil {
		d.t.Error(err)
	}
	return sum
}

// bodyPath returns the path of stored bytes.
func (d *DiskTrace) bodyPath(sum [sha256.Size]byte) string {
	return filepath.Join(d.bodies, fmt.Sprintf("%x", sum))
}

func (d *DiskTrace) sizeOf(c content) int64 {
	info, err := os.Stat(d.bodyPath(c.sum))
	if err != nil {
		return -1
	}
	return info.Size()
}

// Step is the hook that the recorded program calls before and after each change.
func (d *DiskTrace) Step(name, path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	previous := d.newest
	d.newest = d.list(previous)
	d.pending = append(d.pending, nameChanges(previous.objects, d.newest.objects)...)
	if stepSuffix, ok := strings.CutPrefix(name, "before fsync"); ok {
		d.syncing[stepSuffix+path] = d.objectsToSync(stepSuffix, path)
	} else if stepSuffix, ok := strings.CutPrefix(name, "after fsync"); ok {
		d.markSynced(d.syncing[stepSuffix+path])
	}
	d.Points = append(d.Points, TracePoint{name, d.synced.clone(), slices.Clone(d.pending), maps.Clone(d.written), slices.Clone(d.acknowledged)})
	return nil
}

// Acknowledge records that the receiver has acknowledged an event.
func (d *DiskTrace) Acknowledge(event string) {
	d.mu.Lock()
	d.acknowledged = append(d.acknowledged, event)
	d.mu.Unlock()
	if err := d.Step("acknowledged", ""); err != nil {
		d.t.Error(err)
	}
}

// objectsToSync returns the objects that an fsync of a path writes, with their content. For a temporary
// file, path may be the name to which the file will be renamed. stepSuffix is the rest of the name of
// the step after "before fsync".
func (d *DiskTrace) objectsToSync(stepSuffix, path string) map[object]content {
	if strings.HasPrefix(stepSuffix, " beside ") || strings.HasPrefix(stepSuffix, " above ") {
		path = filepath.Dir(path)
	}
	objects := map[object]content{}
	for p, id := range d.paths {
		isTemp := filepath.Dir(p) == filepath.Dir(path) && strings.HasPrefix(filepath.Base(p), "."+filepath.Base(path)+".")
		if p == path || isTemp && d.kinds[id].IsRegular() {
			objects[id] = d.newest.files[id]
		}
	}
	return objects
}

// markSynced adds the content of files and the names in folders to the synced state. After a rename from one folder
// to another, the new name is synced with its folder. The old name remains until the other folder is synced.
func (d *DiskTrace) markSynced(synced map[object]content) {
	var pending []nameChange
	for _, change := range d.pending {
		unsyncedNames := nameChange{}
		for key, id := range change {
			if _, ok := synced[key.dir]; ok {
				setObject(d.synced.objects, key, id)
			} else {
				unsyncedNames[key] = id
			}
		}
		if len(unsyncedNames) > 0 {
			pending = append(pending, unsyncedNames)
		}
	}
	d.pending = pending
	for id, c := range synced {
		if d.kinds[id].IsRegular() {
			d.synced.files[id] = c
		}
	}
}

func setObject(objects map[folderName]object, key folderName, id object) {
	if id == 0 {
		delete(objects, key)
	} else {
		objects[key] = id
	}
}

// nameChanges compares two listings. The changed names of one object, such as the old and the new
// name of a rename, belong to one change.
func nameChanges(before, after map[folderName]object) []nameChange {
	var changed []folderName
	for key := range after {
		if before[key] != after[key] {
			changed = append(changed, key)
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			changed = append(changed, key)
		}
	}
	slices.SortFunc(changed, func(a, b folderName) int {
		return cmp.Or(cmp.Compare(a.dir, b.dir), strings.Compare(a.name, b.name))
	})
	var all []nameChange
	for _, key := range changed {
		merged := nameChange{key: after[key]}
		all = slices.DeleteFunc(all, func(earlier nameChange) bool {
			for earlierKey := range earlier {
				if sharesObject(earlierKey, key, before, after) {
					maps.Copy(merged, earlier)
					return true
				}
			}
			return false
		})
		all = append(all, merged)
	}
	return all
}

// sharesObject reports whether two names had or have an object in common.
func sharesObject(a, b folderName, before, after map[folderName]object) bool {
	for _, x := range []object{before[a], after[a]} {
		if x != 0 && (x == before[b] || x == after[b]) {
			return true
		}
	}
	return false
}

// outage is a power cut. It chooses the changes that survive.
type outage struct {
	// keeps reports whether the i-th pending change of names survives.
	keeps func(i int) bool
	// fateOf selects the content of a file that was written after its last sync.
	fateOf func(id object) fate
}

// fate is the content of an unsynced file after a power cut.
type fate int

const (
	oldContent fate = iota
	newContent
	halfContent
	zeroContent
)

// Outages returns five extreme outages, and random outages up to the given number.
func Outages(random *rand.Rand, count int) []outage {
	forAllNames := func(keep bool) func(int) bool { return func(int) bool { return keep } }
	forAllFiles := func(f fate) func(object) fate { return func(object) fate { return f } }
	all := []outage{{forAllNames(false), forAllFiles(oldContent)}, {forAllNames(true), forAllFiles(oldContent)},
		{forAllNames(true), forAllFiles(zeroContent)}, {forAllNames(true), forAllFiles(halfContent)}, {forAllNames(false), forAllFiles(newContent)}}
	for len(all) < count {
		choices := rand.New(rand.NewPCG(random.Uint64(), 1))
		all = append(all, outage{func(int) bool { return choices.IntN(2) == 0 }, func(object) fate { return fate(choices.IntN(4)) }})
	}
	return all
}

// stateAfter returns the files after an outage at a point, with their newest content. fates contains the fate of each file that was not synced.
func (p TracePoint) stateAfter(o outage) (s diskState, fates map[object]fate) {
	s = p.synced.clone()
	for i, change := range p.Pending {
		if o.keeps(i) {
			for key, id := range change {
				setObject(s.objects, key, id)
			}
		}
	}
	fates = map[object]fate{}
	for _, id := range slices.Sorted(maps.Keys(p.written)) {
		if synced, ok := p.synced.files[id]; !ok || synced.sum != p.written[id].sum {
			fates[id] = o.fateOf(id)
		}
	}
	s.files = p.written
	return s, fates
}

// CreateFolder creates the state after an outage in an empty folder. It returns a checksum of the state.
func (d *DiskTrace) CreateFolder(t *testing.T, p TracePoint, o outage, to string) (sum [sha256.Size]byte) {
	t.Helper()
	s, fates := p.stateAfter(o)
	children := map[object][]string{}
	for key := range s.objects {
		children[key.dir] = append(children[key.dir], key.name)
	}
	hash := sha256.New()
	firstPath := map[object]string{} // the first of the names of a file, for hard links
	var fill func(dir object, path string)
	fill = func(dir object, path string) {
		slices.Sort(children[dir])
		for _, name := range children[dir] {
			id, target := s.objects[folderName{dir, name}], filepath.Join(path, name)
			fmt.Fprintln(hash, strings.TrimPrefix(target, to))
			switch kind := d.kinds[id]; {
			case kind.IsDir():
				testharness.Must(t, os.Mkdir(target, kind.Perm()))
				fill(id, target)
			case kind&fs.ModeSymlink != 0:
				testharness.Must(t, os.Symlink(d.links[id], target))
				fmt.Fprintln(hash, d.links[id])
			case firstPath[id] != "":
				testharness.Must(t, os.Link(firstPath[id], target))
			default:
				f, isUnsynced := fates[id]
				data := d.bytesOf(t, p, id, f, isUnsynced, name)
				testharness.Must(t, os.WriteFile(target, data, s.files[id].mode.Perm()))
				testharness.Must(t, os.Chtimes(target, time.Time{}, s.files[id].at))
				fmt.Fprintf(hash, "%x\n", sha256.Sum256(data))
				firstPath[id] = target
			}
		}
	}
	fill(rootObject, to)
	return [sha256.Size]byte(hash.Sum(nil))
}

// bytesOf returns the bytes of a file after an outage. f applies only if the file is unsynced.
func (d *DiskTrace) bytesOf(t *testing.T, p TracePoint, id object, f fate, isUnsynced bool, name string) []byte {
	t.Helper()
	read := func(c content, ok bool) []byte {
		if !ok {
			return nil
		}
		data, err := os.ReadFile(d.bodyPath(c.sum))
		testharness.Must(t, err)
		return data
	}
	synced, ok := p.synced.files[id]
	old, newest := read(synced, ok), read(p.written[id], true)
	if !isUnsynced || f == newContent {
		return newest
	}
	if f == oldContent || strings.Contains(name, ".duckdb") {
		return old
	}
	// An appended file keeps its synced beginning.
	kept := 0
	if len(newest) >= len(old) && string(newest[:len(old)]) == string(old) {
		kept = len(old)
	}
	if f == halfContent {
		return newest[:kept+(len(newest)-kept)/2]
	}
	return append(slices.Clone(newest[:kept]), make([]byte, len(newest)-kept)...)
}
