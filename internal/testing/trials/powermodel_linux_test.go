package trials_test

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

	"placementsync/internal/durable"
)

// A power cut leaves the last synced content of each file and the last synced entries of each
// folder, and of the later changes any subset. The model of this file records all changes below a
// folder and makes the folders that a power cut could leave.
//
// The changes are found by listing the folder before and after each change that the program
// reports to its hook, so changes that bypass the hook are recorded as well, as changes that were
// never synced. A rename is atomic. DuckDB syncs its own files, which the hook does not see: they
// have the last content of which the program knows that it was synced, or the newest one.

// object is a file, folder or symbolic link. Object 0 is none.
type object int

// inode identifies an object while it exists. The file system can use the number of a removed
// object again, so the time of creation is needed as well.
type inode struct {
	number uint64
	born   unix.StatxTimestamp
}

// content is the content of a file at one time.
type content struct {
	sum  [sha256.Size]byte
	at   time.Time
	mode fs.FileMode
}

// entryKey is a name in a folder.
type entryKey struct {
	dir  object
	name string
}

// diskState is the content of all objects. Entries without an object are absent.
type diskState struct {
	entries map[entryKey]object
	files   map[object]content
}

func (s diskState) clone() diskState {
	return diskState{maps.Clone(s.entries), maps.Clone(s.files)}
}

// entryChange is one creation, rename or removal: the objects that names have after it. A removed
// name has object 0.
type entryChange map[entryKey]object

// tracePoint is a time at which the power could fail.
type tracePoint struct {
	step string
	// synced is the content that survives a power cut in every case.
	synced diskState
	// pending are the changes of names after synced, oldest first.
	pending []entryChange
	// written is the newest content of all files.
	written map[object]content
	// acknowledged are the events that were acknowledged before.
	acknowledged []string
}

// diskTrace records the changes of a folder.
type diskTrace struct {
	mu   sync.Mutex
	t    *testing.T
	root string
	// bodies is a folder with the content of files by checksum.
	bodies string
	ids    map[inode]object
	kinds  map[object]fs.FileMode
	links  map[object]string
	// names finds the object at a path in the last listing.
	names        map[string]object
	last, synced diskState
	// written is the newest content of all files, also of removed ones.
	written map[object]content
	pending []entryChange
	// syncing has the content of objects at the beginning of a running fsync, by step and path.
	syncing      map[string]map[object]content
	acknowledged []string
	points       []tracePoint
}

const rootObject object = 1

// newDiskTrace begins with a folder whose present content is synced.
func newDiskTrace(t *testing.T, root string) *diskTrace {
	t.Helper()
	d := &diskTrace{t: t, root: root, bodies: t.TempDir(), kinds: map[object]fs.FileMode{rootObject: fs.ModeDir | 0o755},
		ids: map[inode]object{}, links: map[object]string{}, written: map[object]content{}, syncing: map[string]map[object]content{}}
	d.last = d.list(diskState{})
	d.synced = d.last.clone()
	return d
}

// list lists the folder. Files that have the size and time of before are not read again.
func (d *diskTrace) list(before diskState) diskState {
	s := diskState{map[entryKey]object{}, map[object]content{}}
	d.names = map[string]object{d.root: rootObject}
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
		parent, ok := d.names[filepath.Dir(path)]
		if !ok {
			return nil
		}
		d.names[path], d.kinds[id] = id, info.Mode()
		s.entries[entryKey{parent, filepath.Base(path)}] = id
		switch {
		case info.Mode().IsRegular():
			known, ok := before.files[id]
			if !ok || !known.at.Equal(info.ModTime()) || d.sizeOf(known) != info.Size() {
				known = content{d.keep(path), info.ModTime(), info.Mode()}
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

// keep copies a file into the folder of bodies and returns its checksum.
func (d *diskTrace) keep(path string) (sum [sha256.Size]byte) {
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		d.t.Error(err)
	}
	sum = sha256.Sum256(data)
	body := d.body(sum)
	if _, err := os.Stat(body); err == nil {
		return sum
	}
	if err := os.WriteFile(body, data, 0o600); err != nil {
		d.t.Error(err)
	}
	return sum
}

func (d *diskTrace) body(sum [sha256.Size]byte) string {
	return filepath.Join(d.bodies, fmt.Sprintf("%x", sum))
}

func (d *diskTrace) sizeOf(c content) int64 {
	info, err := os.Stat(d.body(c.sum))
	if err != nil {
		return -1
	}
	return info.Size()
}

// step is the hook of the recorded program.
func (d *diskTrace) step(name, path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.last
	d.last = d.list(before)
	d.pending = append(d.pending, entryChanges(before.entries, d.last.entries)...)
	if strings.HasPrefix(name, "after fsync above ") {
		parent := d.names[filepath.Dir(path)]
		d.markSynced(map[object]content{parent: {}})
	} else if begin, ok := strings.CutPrefix(name, "before fsync"); ok {
		d.syncing[begin+path] = d.toSync(begin, path)
	} else if end, ok := strings.CutPrefix(name, "after fsync"); ok {
		d.markSynced(d.syncing[end+path])
	}
	d.points = append(d.points, tracePoint{name, d.synced.clone(), slices.Clone(d.pending), maps.Clone(d.written), slices.Clone(d.acknowledged)})
	return nil
}

// acknowledge records that the sender of an event was told that it is stored.
func (d *diskTrace) acknowledge(event string) {
	d.mu.Lock()
	d.acknowledged = append(d.acknowledged, event)
	d.mu.Unlock()
	if err := d.step("acknowledged", ""); err != nil {
		d.t.Error(err)
	}
}

// toSync returns the objects that an fsync of a path writes, with their content. The path of a new
// file may be the one that it will be renamed to.
func (d *diskTrace) toSync(step, path string) map[object]content {
	if strings.HasPrefix(step, " beside ") {
		path = filepath.Dir(path)
	}
	found := map[object]content{}
	for name, id := range d.names {
		isTemp := filepath.Dir(name) == filepath.Dir(path) && strings.HasPrefix(filepath.Base(name), "."+filepath.Base(path)+".")
		if name == path || isTemp && d.kinds[id].IsRegular() {
			found[id] = d.last.files[id]
		}
	}
	return found
}

// markSynced moves the content of files and the names in folders to the synced state. A rename
// between two folders is synced with the folder of its new name; its old name remains until the
// other folder is synced.
func (d *diskTrace) markSynced(synced map[object]content) {
	var pending []entryChange
	for _, change := range d.pending {
		rest := entryChange{}
		for key, id := range change {
			if _, ok := synced[key.dir]; ok {
				set(d.synced.entries, key, id)
			} else {
				rest[key] = id
			}
		}
		if len(rest) > 0 {
			pending = append(pending, rest)
		}
	}
	d.pending = pending
	for id, c := range synced {
		if d.kinds[id].IsRegular() {
			d.synced.files[id] = c
		}
	}
}

func set(entries map[entryKey]object, key entryKey, id object) {
	if id == 0 {
		delete(entries, key)
	} else {
		entries[key] = id
	}
}

// entryChanges compares two listings. Names of the same object belong to one change.
func entryChanges(before, after map[entryKey]object) []entryChange {
	var changed []entryKey
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
	slices.SortFunc(changed, func(a, b entryKey) int {
		return cmp.Or(cmp.Compare(a.dir, b.dir), strings.Compare(a.name, b.name))
	})
	var all []entryChange
	for _, key := range changed {
		merged := entryChange{key: after[key]}
		all = slices.DeleteFunc(all, func(other entryChange) bool {
			for k := range other {
				if sharesObject(k, key, before, after) {
					maps.Copy(merged, other)
					return true
				}
			}
			return false
		})
		all = append(all, merged)
	}
	return all
}

// sharesObject reports whether two names had or have the same object.
func sharesObject(a, b entryKey, before, after map[entryKey]object) bool {
	for _, x := range []object{before[a], after[a]} {
		if x != 0 && (x == before[b] || x == after[b]) {
			return true
		}
	}
	return false
}

// outage chooses the changes that survive a power cut.
type outage struct {
	// keeps decides about a pending change of names.
	keeps func(i int) bool
	// fate decides about the content of a file that was written after it was synced.
	fate func(id object) fate
}

// fate is the content of an unsynced file after a power cut.
type fate int

const (
	oldContent fate = iota
	newContent
	halfContent
	zeroContent
)

// outages returns the extreme outages and random ones.
func outages(random *rand.Rand, count int) []outage {
	all := func(keep bool) func(int) bool { return func(int) bool { return keep } }
	same := func(f fate) func(object) fate { return func(object) fate { return f } }
	list := []outage{{all(false), same(oldContent)}, {all(true), same(oldContent)}, {all(true), same(zeroContent)},
		{all(true), same(halfContent)}, {all(false), same(newContent)}}
	for len(list) < count {
		one := rand.New(rand.NewPCG(random.Uint64(), 1))
		list = append(list, outage{func(int) bool { return one.IntN(2) == 0 }, func(object) fate { return fate(one.IntN(4)) }})
	}
	return list
}

// leave returns the state that an outage leaves at a point.
func (p tracePoint) leave(o outage) (diskState, map[object]fate) {
	s := p.synced.clone()
	for i, change := range p.pending {
		if o.keeps(i) {
			for key, id := range change {
				set(s.entries, key, id)
			}
		}
	}
	fates := map[object]fate{}
	for _, id := range slices.Sorted(maps.Keys(p.written)) {
		if synced, ok := p.synced.files[id]; !ok || synced.sum != p.written[id].sum {
			fates[id] = o.fate(id)
		}
	}
	s.files = p.written
	return s, fates
}

// write creates the state in an empty folder and returns a checksum of it.
func (d *diskTrace) write(t *testing.T, p tracePoint, o outage, to string) (sum [sha256.Size]byte) {
	t.Helper()
	s, fates := p.leave(o)
	children := map[object][]string{}
	for key := range s.entries {
		children[key.dir] = append(children[key.dir], key.name)
	}
	hash := sha256.New()
	written := map[object]string{}
	var fill func(dir object, path string)
	fill = func(dir object, path string) {
		slices.Sort(children[dir])
		for _, name := range children[dir] {
			id, target := s.entries[entryKey{dir, name}], filepath.Join(path, name)
			fmt.Fprintln(hash, strings.TrimPrefix(target, to))
			switch kind := d.kinds[id]; {
			case kind.IsDir():
				must(t, os.Mkdir(target, kind.Perm()))
				fill(id, target)
			case kind&fs.ModeSymlink != 0:
				must(t, os.Symlink(d.links[id], target))
				fmt.Fprintln(hash, d.links[id])
			case written[id] != "":
				must(t, os.Link(written[id], target))
			default:
				f, unsynced := fates[id]
				data := d.bytesOf(t, p, id, f, unsynced, name)
				must(t, os.WriteFile(target, data, s.files[id].mode.Perm()))
				must(t, os.Chtimes(target, time.Time{}, s.files[id].at))
				fmt.Fprintf(hash, "%x\n", sha256.Sum256(data))
				written[id] = target
			}
		}
	}
	fill(rootObject, to)
	return [sha256.Size]byte(hash.Sum(nil))
}

// bytesOf returns the content of a file after an outage.
func (d *diskTrace) bytesOf(t *testing.T, p tracePoint, id object, f fate, unsynced bool, name string) []byte {
	t.Helper()
	read := func(c content, ok bool) []byte {
		if !ok {
			return nil
		}
		data, err := os.ReadFile(d.body(c.sum))
		must(t, err)
		return data
	}
	synced, ok := p.synced.files[id]
	old, now := read(synced, ok), read(p.written[id], true)
	if !unsynced || f == newContent {
		return now
	}
	if f == oldContent || strings.Contains(name, ".duckdb") {
		return old
	}
	// An appended file keeps its synced beginning.
	kept := 0
	if len(now) >= len(old) && string(now[:len(old)]) == string(old) {
		kept = len(old)
	}
	if f == halfContent {
		return now[:kept+(len(now)-kept)/2]
	}
	return append(slices.Clone(now[:kept]), make([]byte, len(now)-kept)...)
}

// TestPowerModelKnowsWhatIsSynced replaces a file in three ways and makes the files that a power
// cut can leave. Only with durable is each of them the old or the new content.
func TestPowerModelKnowsWhatIsSynced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replace func(disk durable.Disk, path string) error
		want    []string
	}{
		"durable": {func(disk durable.Disk, path string) error { return disk.WriteFile(path, []byte("new!"), 0o600) }, []string{"new!", "old"}},
		"in place": {func(_ durable.Disk, path string) error { return os.WriteFile(path, []byte("new!"), 0o600) },
			[]string{"\x00\x00\x00\x00", "ne", "new!", "old"}},
		"renamed without fsync": {func(_ durable.Disk, path string) error {
			return errors.Join(os.WriteFile(path+".next", []byte("new!"), 0o600), os.Rename(path+".next", path))
		}, []string{"", "\x00\x00\x00\x00", "ne", "new!", "old"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			must(t, os.WriteFile(path, []byte("old"), 0o600))
			trace := newDiskTrace(t, dir)
			must(t, c.replace(durable.Disk{Step: trace.step}, path))
			must(t, trace.step("end", ""))
			left := map[string]bool{}
			for _, point := range trace.points {
				for _, o := range outages(rand.New(rand.NewPCG(1, 1)), 50) {
					to := t.TempDir()
					trace.write(t, point, o, to)
					data, err := os.ReadFile(filepath.Join(to, "file"))
					must(t, err)
					left[string(data)] = true
				}
			}
			if got := slices.Sorted(maps.Keys(left)); !slices.Equal(got, c.want) {
				t.Errorf("a power cut leaves %q, want %q", got, c.want)
			}
			if last := trace.points[len(trace.points)-1]; name == "durable" && len(last.pending) > 0 {
				t.Errorf("after the last change these names are not synced: %v", last.pending)
			}
		})
	}
}
