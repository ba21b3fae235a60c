package fetch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"placementsync/internal/durable"

	"github.com/klauspost/compress/s2"
	"github.com/zeebo/xxh3"
)

// LandingOptions are the options of a landing. Zero values mean the defaults.
type LandingOptions struct {
	SegmentBytes int64 // size after which a new segment file is created; defaults to 256 MiB
	// SyncBytes is the number of written bytes after which the files are synced. A power
	// cut can lose up to about twice this number; a killed process loses no stored responses.
	// A negative value disables syncing. Defaults to 16 MiB.
	SyncBytes int64
	// Step, if set, is called before and after each write and fsync with the name of the
	// step. Crash tests end the process in Step, and tests of failing disks return an error.
	Step func(name, path string) error
}

// Landing is the folder in which the responses of a run are stored before they are decoded.
// The bodies are in segment files, one after the other: compressed bodies as received, plain
// bodies compressed with S2. The stored bytes of a body are called its frame. The journal has one
// line per response, in order of Seq. A Landing is safe for concurrent use by one process. The caller
// must prevent use by a second process.
type Landing struct {
	dir          string
	options      LandingOptions
	decompressor *decompressor
	frames       sync.Pool // of *[]byte, buffers for frames

	mu            sync.Mutex
	index         map[xxh3.Uint128]location // the last response to each request
	seq           uint64                    // of the last journal line
	damagedLines  int                       // when the landing was opened
	lines         int                       // of the journal
	journal       *os.File
	journalEnd    int64 // offset of the next line
	segments      []*os.File
	segmentEnd    int64 // offset of the next frame in the last segment
	unsynced      int64 // number of unsynced bytes
	firstUnsynced int   // index of the first segment with unsynced bytes

	syncing sync.Mutex
	syncErr error // first error of fsync; guarded by syncing
}

// OpenLanding opens the landing in dir, or creates it. Incomplete responses of an interrupted
// run are removed, and will be requested again.
func OpenLanding(dir string, options LandingOptions) (_ *Landing, err error) {
	options.SegmentBytes, options.SyncBytes = cmp.Or(options.SegmentBytes, 256<<20), cmp.Or(options.SyncBytes, 16<<20)
	l := &Landing{dir: dir, options: options, decompressor: newDecompressor(maxLandedBody),
		frames: sync.Pool{New: func() any { return new([]byte) }},
		index:  make(map[xxh3.Uint128]location)}
	defer func() {
		if err != nil {
			err = l.landingErr(errors.Join(err, l.closeFiles()))
		}
	}()
	if err = l.disk().MakeFolder(dir, 0o700); err != nil {
		return nil, err
	}
	if err = l.openFiles(os.O_RDWR | os.O_CREATE); err != nil {
		return nil, err
	}
	if len(l.segments) == 0 {
		if err = l.addSegment(); err != nil {
			return nil, err
		}
	}
	if err = l.restore(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Landing) landingErr(err error) error {
	if err == nil {
		return nil
	}
	remedy := ": check the disk, then run again to resume"
	if durable.IsFull(err) {
		remedy = "" // the caller adds the remedy for a full disk
	}
	return fmt.Errorf("%w in %q: %w; the responses stored before are kept%s", ErrLanding, l.dir, err, remedy)
}

const (
	journalName = "journal.jsonl"
	segmentName = "%06d.bodies"
)

func (l *Landing) openFiles(flag int) (err error) {
	if l.journal, err = os.OpenFile(filepath.Join(l.dir, journalName), flag, 0o600); err != nil {
		return err
	}
	for {
		f, err := l.openSegment(flag &^ os.O_CREATE)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		l.segments = append(l.segments, f)
	}
}

// Segments are numbered from 1.
func (l *Landing) openSegment(flag int) (*os.File, error) {
	return os.OpenFile(filepath.Join(l.dir, fmt.Sprintf(segmentName, len(l.segments)+1)), flag, 0o600)
}

func (l *Landing) addSegment() error {
	f, err := l.openSegment(os.O_RDWR | os.O_CREATE)
	if err != nil {
		return err
	}
	l.segments = append(l.segments, f)
	l.segmentEnd = 0
	return nil
}

const maxLandedBody = 2 << 30 // decompressed

// checksumOf returns the CRC-32C of data. Processors have an instruction for CRC-32C.
func checksumOf(data []byte) uint32 {
	return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
}

// Append stores a response and returns it with Seq set. When it returns without an
// error, the response survives the end of the process, and after the next sync also a power
// cut.
func (l *Landing) Append(r Response, at time.Time, took time.Duration) (Response, error) {
	n := StoredResponse{Request: r.Request, At: at.UTC(), Millis: float64(took.Microseconds()) / 1000}
	n.Encoding, n.Status, n.Size = r.Encoding, r.Status, uint32(len(r.Body))
	frame := r.Compressed
	if n.Encoding == plain {
		// zstd would take a third less space, but four times the CPU time.
		buffer := l.frames.Get().(*[]byte)
		defer l.frames.Put(buffer)
		*buffer = s2.Encode((*buffer)[:cap(*buffer)], r.Body)
		frame, n.Encoding = *buffer, s2Encoding
	}
	n.Stored, n.Sum = uint32(len(frame)), checksumOf(frame)
	syncDue, err := l.appendResponse(&n, frame)
	if err == nil && syncDue {
		err = l.sync()
	}
	r.Seq = n.Seq
	return r, l.landingErr(err)
}

// The writes have explicit offsets, so that the next write overwrites the remains of a failed write.
func (l *Landing) appendResponse(n *StoredResponse, frame []byte) (syncDue bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.placeFrame(n, frame); err != nil {
		return false, err
	}
	n.Seq = l.seq + 1
	text, err := n.marshal()
	if err != nil {
		return false, err
	}
	if err := l.disk().WriteAt(l.journal, text, l.journalEnd); err != nil {
		return false, err
	}
	l.seq = n.Seq
	l.journalEnd += int64(len(text))
	l.lines++
	l.segmentEnd += int64(len(frame))
	l.unsynced += int64(len(text) + len(frame))
	l.index[n.indexKey()] = n.location
	return l.unsynced >= l.options.SyncBytes && l.options.SyncBytes > 0, nil
}

func (l *Landing) placeFrame(n *StoredResponse, frame []byte) error {
	if l.segmentEnd > 0 && l.segmentEnd+int64(len(frame)) > l.options.SegmentBytes {
		if err := l.addSegment(); err != nil {
			return err
		}
	}
	n.Segment, n.Offset = uint32(len(l.segments)-1), l.segmentEnd
	return l.disk().WriteAt(l.segments[n.Segment], frame, l.segmentEnd)
}

func (l *Landing) disk() durable.Disk {
	return durable.Disk{Step: l.options.Step, Label: func(path string) string {
		switch name := filepath.Base(path); {
		case name == journalName:
			return "of the journal"
		case path == l.dir:
			return "of the landing"
		default:
			return "of the bodies"
		}
	}}
}

// Responses returns the number of responses in the journal. VerifyLanding compares it with the journal.
func (l *Landing) Responses() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines
}

// Damaged returns the number of journal lines that were damaged when the landing was
// opened. Each damaged line means a lost response. An incomplete last line, which a killed run can
// leave, does not count.
func (l *Landing) Damaged() int { return l.damagedLines }

// Lookup returns the last stored response to a request. A response with a damaged body counts
// as not stored.
func (l *Landing) Lookup(r Request) (Response, bool) {
	loc, found := l.find(r)
	if !found {
		return Response{}, false
	}
	body, err := l.loadBody(loc)
	if err != nil {
		return Response{}, false
	}
	return Response{Request: r, Seq: loc.Seq, Status: loc.Status, Body: body}, true
}

func (l *Landing) find(r Request) (location, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	loc, found := l.index[r.indexKey()]
	return loc, found
}

var errDamagedBody = errors.New("the stored body is damaged")

func (l *Landing) loadBody(loc location) ([]byte, error) {
	l.mu.Lock()
	segments := l.segments
	l.mu.Unlock()
	if int(loc.Segment) >= len(segments) {
		return nil, fmt.Errorf("open segment %d: %w", loc.Segment+1, fs.ErrNotExist)
	}
	frame := make([]byte, loc.Stored)
	if _, err := segments[loc.Segment].ReadAt(frame, loc.Offset); err != nil {
		return nil, err
	}
	if checksumOf(frame) != loc.Sum {
		return nil, errDamagedBody
	}
	// Extra capacity lets gzip detect the end without a reallocation.
	return l.decompressor.decompress(loc.Encoding, frame, make([]byte, 0, int(loc.Size)+bytes.MinRead))
}

// sync syncs bodies before the journal, so that every journal line on disk has its body on disk.
// Other responses can be stored at the same time.
func (l *Landing) sync() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	unsynced, segments := l.unsynced, l.segments[l.firstUnsynced:]
	l.unsynced, l.firstUnsynced = 0, len(l.segments)-1
	l.mu.Unlock()
	if l.syncErr != nil || unsynced == 0 || l.options.SyncBytes < 0 {
		return l.syncErr
	}
	disk := l.disk()
	// After a failed fsync the state of the disk is unknown, so all later syncs fail too.
	for _, f := range append(slices.Clone(segments), l.journal) {
		if l.syncErr = disk.Do("fsync", f.Name(), f.Sync); l.syncErr != nil {
			return l.syncErr
		}
	}
	l.syncErr = disk.Sync(l.dir)
	return l.syncErr
}

// Sync makes the stored responses survive a power cut.
func (l *Landing) Sync() error { return l.landingErr(l.sync()) }

// Close syncs and closes the landing.
func (l *Landing) Close() error {
	return l.landingErr(errors.Join(l.sync(), l.closeFiles()))
}

func (l *Landing) closeFiles() error {
	var errs []error
	if l.journal != nil {
		errs = append(errs, l.journal.Close())
	}
	for _, f := range l.segments {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
