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

	"github.com/klauspost/compress/s2"
	"github.com/zeebo/xxh3"

	"placementsync/internal/checksum"
	"placementsync/internal/durable"
)

// StoreOptions are the options of a ResponseStore. Zero values mean the defaults.
type StoreOptions struct {
	SegmentBytes int64 // size after which a new segment file is created; defaults to 256 MiB
	// SyncBytes is the number of written bytes after which the files are synced. A power
	// cut can lose up to about twice this number; a killed process loses no stored responses.
	// A negative value disables syncing. Defaults to 16 MiB.
	SyncBytes int64
	// Step, if set, is called before and after each write and fsync with the name of the
	// step. Crash tests end the process in Step, and tests of failing disks return an error.
	Step func(name, path string) error
}

// ResponseStore is the folder in which the responses of a run are stored before they are decoded.
// The bodies are in segment files, one after the other: compressed bodies as received, plain
// bodies compressed with S2. The stored bytes of a body are called its frame. The journal has one
// line per response, in order of Seq. A ResponseStore is safe for concurrent use by one process. The caller
// must prevent use by a second process.
type ResponseStore struct {
	dir          string
	options      StoreOptions
	decompressor *decompressor
	frames       sync.Pool // of *[]byte, buffers for frames

	mu            sync.Mutex
	index         map[xxh3.Uint128]location // the last response to each request
	seq           uint64                    // of the last journal line
	damagedLines  int                       // when the store was opened
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

// StoredResponse is a line of the journal, a JSON object about one response. The line is sealed, because
// after a power cut a complete line can have wrong bytes.
type StoredResponse struct {
	location
	Request
	At     time.Time `json:"at"`
	Millis float64   `json:"ms"` // time until the response was received
	// Replaced means that a later response to the same request was stored and is used instead.
	Replaced bool `json:"-"`
}

// location contains the position and the checksums of a stored response. The index keeps the
// location of the latest response to each request in memory.
type location struct {
	Seq     uint64 `json:"seq"`
	Status  int    `json:"status"`
	Segment uint32 `json:"segment"`
	Offset  int64  `json:"offset"`
	// Stored and Size are the lengths of the stored bytes and of the body. Sum is the CRC-32C of the stored
	// bytes.
	Stored uint32 `json:"stored"`
	Size   uint32 `json:"size"`
	Sum    uint32 `json:"stored_crc32c"`
	// Encoding is the compression of the stored bytes: zstd or gzip as received, or s2.
	Encoding string `json:"encoding,omitempty"`
}

// OpenResponseStore opens the store in dir, or creates it. Incomplete responses of an interrupted
// run are removed, and will be requested again.
func OpenResponseStore(dir string, options StoreOptions) (_ *ResponseStore, err error) {
	options.SegmentBytes = cmp.Or(options.SegmentBytes, 256<<20)
	options.SyncBytes = cmp.Or(options.SyncBytes, 16<<20)
	rs := &ResponseStore{dir: dir, options: options, decompressor: newDecompressor(maxStoredBody),
		frames: sync.Pool{New: func() any { return new([]byte) }},
		index:  make(map[xxh3.Uint128]location)}
	defer func() {
		if err != nil {
			err = rs.storeErr(errors.Join(err, rs.closeFiles()))
		}
	}()
	if err = rs.disk().MakeFolder(dir, 0o700); err != nil {
		return nil, err
	}
	if err = rs.openFiles(os.O_RDWR | os.O_CREATE); err != nil {
		return nil, err
	}
	if len(rs.segments) == 0 {
		if err = rs.addSegment(); err != nil {
			return nil, err
		}
	}
	if err = rs.restore(); err != nil {
		return nil, err
	}
	return rs, nil
}

func (rs *ResponseStore) storeErr(err error) error {
	if err == nil {
		return nil
	}
	remedy := ": check the disk, then run again to resume"
	if durable.IsFull(err) {
		remedy = "" // the caller adds the remedy for a full disk
	}
	return fmt.Errorf("%w in %q: %w; the responses stored before are kept%s", ErrStore, rs.dir, err, remedy)
}

const (
	journalName = "journal.jsonl"
	segmentName = "%06d.bodies"
)

func (rs *ResponseStore) openFiles(flag int) (err error) {
	if rs.journal, err = os.OpenFile(filepath.Join(rs.dir, journalName), flag, 0o600); err != nil {
		return err
	}
	for {
		f, err := rs.openSegment(flag &^ os.O_CREATE)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rs.segments = append(rs.segments, f)
	}
}

// Segments are numbered from 1.
func (rs *ResponseStore) openSegment(flag int) (*os.File, error) {
	return os.OpenFile(filepath.Join(rs.dir, fmt.Sprintf(segmentName, len(rs.segments)+1)), flag, 0o600)
}

func (rs *ResponseStore) addSegment() error {
	f, err := rs.openSegment(os.O_RDWR | os.O_CREATE)
	if err != nil {
		return err
	}
	rs.segments = append(rs.segments, f)
	rs.segmentEnd = 0
	return nil
}

const maxStoredBody = 2 << 30 // decompressed

// checksumOf returns the CRC-32C of data. Processors have an instruction for CRC-32C.
func checksumOf(data []byte) uint32 {
	return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
}

// Append stores a response and returns it with Seq set. When it returns without an
// error, the response survives the end of the process, and after the next sync also a power
// cut.
func (rs *ResponseStore) Append(r Response, at time.Time, took time.Duration) (Response, error) {
	line := StoredResponse{Request: r.Request, At: at.UTC(), Millis: float64(took.Microseconds()) / 1000}
	line.Encoding, line.Status, line.Size = r.Encoding, r.Status, uint32(len(r.Body))
	frame := r.Compressed
	if line.Encoding == plain {
		// zstd would take a third less space, but four times the CPU time.
		buffer := rs.frames.Get().(*[]byte)
		defer rs.frames.Put(buffer)
		*buffer = s2.Encode((*buffer)[:cap(*buffer)], r.Body)
		frame, line.Encoding = *buffer, s2Encoding
	}
	line.Stored, line.Sum = uint32(len(frame)), checksumOf(frame)
	syncDue, err := rs.appendResponse(&line, frame)
	if err == nil && syncDue {
		err = rs.sync()
	}
	r.Seq = line.Seq
	return r, rs.storeErr(err)
}

// The writes have explicit offsets, so that the next write overwrites the remains of a failed write.
func (rs *ResponseStore) appendResponse(line *StoredResponse, frame []byte) (syncDue bool, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if err := rs.placeFrame(line, frame); err != nil {
		return false, err
	}
	line.Seq = rs.seq + 1
	text, err := checksum.SealLine(line)
	if err != nil {
		return false, err
	}
	text = append(text, '\n')
	if err := rs.disk().WriteAt(rs.journal, text, rs.journalEnd); err != nil {
		return false, err
	}
	rs.seq = line.Seq
	rs.journalEnd += int64(len(text))
	rs.lines++
	rs.segmentEnd += int64(len(frame))
	rs.unsynced += int64(len(text) + len(frame))
	rs.index[line.indexKey()] = line.location
	return rs.unsynced >= rs.options.SyncBytes, nil
}

// With 128 bits a collision within a run is less likely than a hardware fault.
func (r Request) indexKey() xxh3.Uint128 {
	return xxh3.HashString128(fmt.Sprintf("%q %q %q %q %d %d", r.Stream, r.Path, r.Query, r.Param, r.Pass, r.Page))
}

func (rs *ResponseStore) placeFrame(line *StoredResponse, frame []byte) error {
	if rs.segmentEnd > 0 && rs.segmentEnd+int64(len(frame)) > rs.options.SegmentBytes {
		if err := rs.addSegment(); err != nil {
			return err
		}
	}
	line.Segment, line.Offset = uint32(len(rs.segments)-1), rs.segmentEnd
	return rs.disk().WriteAt(rs.segments[line.Segment], frame, rs.segmentEnd)
}

func (rs *ResponseStore) disk() durable.Disk {
	return durable.Disk{Step: rs.options.Step, Label: func(path string) string {
		switch name := filepath.Base(path); {
		case name == journalName:
			return "of the journal"
		case path == rs.dir:
			return "of the stored responses"
		default:
			return "of the bodies"
		}
	}}
}

// Responses returns the number of responses in the journal. VerifyResponses compares it with the journal.
func (rs *ResponseStore) Responses() int {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.lines
}

// Damaged returns the number of journal lines that were damaged when the store was
// opened. Each damaged line means a lost response. An incomplete last line, which a killed run can
// leave, does not count.
func (rs *ResponseStore) Damaged() int { return rs.damagedLines }

// Lookup returns the last stored response to a request. A response with a damaged body counts
// as not stored.
func (rs *ResponseStore) Lookup(r Request) (Response, bool) {
	loc, found := rs.find(r)
	if !found {
		return Response{}, false
	}
	body, err := rs.loadBody(loc)
	if err != nil {
		return Response{}, false
	}
	return Response{Request: r, Seq: loc.Seq, Status: loc.Status, Body: body}, true
}

func (rs *ResponseStore) find(r Request) (location, bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	loc, found := rs.index[r.indexKey()]
	return loc, found
}

var errDamagedBody = errors.New("the stored body is damaged")

func (rs *ResponseStore) loadBody(loc location) ([]byte, error) {
	rs.mu.Lock()
	segments := rs.segments
	rs.mu.Unlock()
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
	return rs.decompressor.decompress(loc.Encoding, frame, make([]byte, 0, int(loc.Size)+bytes.MinRead))
}

// sync syncs bodies before the journal, so that every journal line on disk has its body on disk.
// Other responses can be stored at the same time.
func (rs *ResponseStore) sync() error {
	rs.syncing.Lock()
	defer rs.syncing.Unlock()
	rs.mu.Lock()
	unsynced, segments := rs.unsynced, rs.segments[rs.firstUnsynced:]
	rs.unsynced, rs.firstUnsynced = 0, len(rs.segments)-1
	rs.mu.Unlock()
	if rs.syncErr != nil || unsynced == 0 || rs.options.SyncBytes < 0 {
		return rs.syncErr
	}
	disk := rs.disk()
	// After a failed fsync the state of the disk is unknown, so all later syncs fail too.
	for _, f := range append(slices.Clone(segments), rs.journal) {
		if rs.syncErr = disk.Do("fsync", f.Name(), f.Sync); rs.syncErr != nil {
			return rs.syncErr
		}
	}
	rs.syncErr = disk.Sync(rs.dir)
	return rs.syncErr
}

// Sync makes the stored responses survive a power cut.
func (rs *ResponseStore) Sync() error { return rs.storeErr(rs.sync()) }

// Close syncs and closes the store.
func (rs *ResponseStore) Close() error {
	return rs.storeErr(errors.Join(rs.sync(), rs.closeFiles()))
}

func (rs *ResponseStore) closeFiles() error {
	var errs []error
	if rs.journal != nil {
		errs = append(errs, rs.journal.Close())
	}
	for _, f := range rs.segments {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
