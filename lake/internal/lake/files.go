package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // object storage behind s3://
	"github.com/apache/iceberg-go/utils"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"placementsync/internal/bucket"
	"placementsync/internal/durable"
	"placementsync/internal/warehouse"
)

// withObjectStorage returns a context with which iceberg-go uses the keys, timeouts and retries of
// cfg.S3 for object storage. It returns ctx for a lake in a folder.
func withObjectStorage(ctx context.Context, cfg Config) (context.Context, error) {
	if !strings.HasPrefix(cfg.Warehouse, "s3://") && cfg.Catalog != RESTful {
		return ctx, nil
	}
	aws, err := cfg.S3.AWS(ctx)
	if err != nil {
		if cfg.Catalog == RESTful { // the server may send keys for each table
			return ctx, nil
		}
		return ctx, fmt.Errorf("open %s: %w", cfg.Warehouse, err)
	}
	return utils.WithAwsConfig(ctx, &aws), nil
}

// storageProperties returns the settings of cfg.S3 as properties of iceberg-go. Properties that a
// REST server sends for a table override them.
func storageProperties(cfg Config) iceberg.Properties {
	p := iceberg.Properties{icebergio.S3ForceVirtualAddressing: strconv.FormatBool(!cfg.S3.PathStyle)}
	if cfg.S3.Endpoint != "" {
		p[icebergio.S3EndpointURL] = cfg.S3.Endpoint
	}
	if cfg.S3.Region != "" {
		p[icebergio.S3Region] = cfg.S3.Region
	}
	return p
}

// files reads and writes the files of the lake's tables, in a folder or in object storage. It
// records the files that it created, so that they can be removed if their commit fails.
type files struct {
	icebergio.WriteFileIO
	disk        durable.Disk
	local       bool
	mode        fs.FileMode // as in Config.Mode
	root        string      // file:///folder, s3://bucket/prefix, or empty if the server chooses the folders
	uncommitted *uncommittedFiles
	s3          bucket.Config
}

type uncommittedFiles struct {
	mu    sync.Mutex // guards files
	files []uncommittedFile
}

type uncommittedFile struct {
	name  string
	store icebergio.WriteFileIO
}

func (u *uncommittedFiles) add(name string, store icebergio.WriteFileIO) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.files = append(u.files, uncommittedFile{name, store})
}

func (u *uncommittedFiles) names() (names []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, f := range u.files {
		names = append(names, f.name)
	}
	return names
}

func (u *uncommittedFiles) drain() []uncommittedFile {
	u.mu.Lock()
	defer u.mu.Unlock()
	files := u.files
	u.files = nil
	return files
}

// openFiles opens the storage of Config.Warehouse. It creates no file.
func openFiles(ctx context.Context, cfg Config) (*files, error) {
	f := &files{disk: durable.Disk{Step: cfg.Step}, mode: cfg.Mode, uncommitted: &uncommittedFiles{}, s3: cfg.S3}
	if cfg.Warehouse == "" {
		return f, nil // the server chooses the folder of each table
	}
	if strings.Contains(cfg.Warehouse, "://") {
		store, err := icebergio.LoadFS(ctx, storageProperties(cfg), cfg.Warehouse)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", cfg.Warehouse, err)
		}
		f.WriteFileIO, f.root = store.(icebergio.WriteFileIO), strings.TrimRight(cfg.Warehouse, "/")
		return f, nil
	}
	f.WriteFileIO, f.local = icebergio.LocalFS{}, true
	f.root = "file://" + filepath.ToSlash(cfg.Warehouse)
	// Some readers escape the address of a folder and some do not.
	if u, err := url.Parse(f.root); err != nil || u.String() != f.root {
		return nil, fmt.Errorf("open the lake folder %q: its path has spaces or special characters, which engines read differently: set lake.warehouse to another folder", cfg.Warehouse)
	}
	return f, nil
}

func localPath(address string) string { return strings.TrimPrefix(address, "file://") }

// Create creates a file that is durable when it is closed.
func (f *files) Create(name string) (w icebergio.FileWriter, err error) {
	err = f.disk.Do("create", name, func() error {
		if f.local {
			w, err = f.createLocal(localPath(name))
		} else {
			w, err = f.WriteFileIO.Create(name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	f.uncommitted.add(name, f.WriteFileIO)
	return &durableWriter{w, f, name}, nil
}

func (f *files) createLocal(path string) (*os.File, error) {
	if err := f.makeFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, publicFile)
	if err == nil {
		err = f.setMode(file)
	}
	return file, err
}

// The modes of files and folders without Config.Mode. The umask restricts them.
const (
	publicFile = 0o644
	publicDir  = 0o755
)

func (f *files) setMode(file *os.File) error {
	if f.mode == 0 {
		return nil
	}
	return file.Chmod(f.mode)
}

// makeFolder creates a folder and the missing folders above it. With Config.Mode it also sets the mode of
// existing folders of the tables. It does not change an existing folder of the lake, which may contain other
// files.
func (f *files) makeFolder(dir string) error {
	_, err := os.Stat(dir)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return err
	}
	isOfTables := f.local && f.root != "" && strings.HasPrefix(dir, localPath(f.root)+"/")
	setsMode := f.mode != 0 && (isNew || isOfTables)
	if !isNew && !setsMode {
		return nil
	}
	if err := f.makeFolder(filepath.Dir(dir)); err != nil {
		return err
	}
	if isNew {
		if err := os.Mkdir(dir, publicDir); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if !setsMode {
		return nil
	}
	return os.Chmod(dir, warehouse.FolderMode(f.mode))
}

// stagedFile is a complete file of the lake that readers do not see yet.
type stagedFile struct {
	files *files
	name  string
	data  []byte
	temp  *os.File // nil in object storage, where an upload makes a file visible in one step
}

// stage writes a file under a temporary name. A later stage in the same folder removes the temporary files of
// killed publishers.
func (f *files) stage(name string, data []byte) (s *stagedFile, err error) {
	s = &stagedFile{files: f, name: name, data: data}
	if !f.local {
		return s, nil
	}
	path := localPath(name)
	if err := f.makeFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if s.temp, err = f.disk.CreateTempFile(filepath.Join(filepath.Dir(path), "metadata"), publicFile); err != nil {
		return nil, err
	}
	err = f.disk.Do("complete", name, func() error {
		_, err := s.temp.Write(data)
		return errors.Join(err, f.setMode(s.temp), s.temp.Sync())
	})
	if err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

// show makes the file visible in one step. The caller then syncs its folder.
func (s *stagedFile) show() error {
	if s.temp == nil {
		return s.files.WriteFile(s.name, s.data)
	}
	s.files.uncommitted.add(s.name, s.files.WriteFileIO)
	return s.files.disk.RenameUnsynced(s.temp.Name(), localPath(s.name))
}

// discard closes the temporary file, and removes it if show did not rename it.
func (s *stagedFile) discard() {
	if s.temp != nil {
		_ = os.Remove(s.temp.Name())
		_ = s.temp.Close()
	}
}

// WriteFile creates a durable file with the content.
func (f *files) WriteFile(name string, data []byte) error {
	w, err := f.Create(name)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return errors.Join(err, w.Close())
}

// durableWriter syncs a local file when it is closed. An object is durable when its upload
// is complete.
type durableWriter struct {
	icebergio.FileWriter
	files *files
	name  string
}

func (w *durableWriter) Close() error {
	return w.files.disk.Do("complete", w.name, func() error {
		var err error
		if file, ok := w.FileWriter.(*os.File); ok {
			err = file.Sync()
		}
		return errors.Join(err, w.FileWriter.Close())
	})
}

// syncFolders syncs the local folders of files, and their parents in the lake. The files must be complete.
func (f *files) syncFolders(names []string) error {
	if !f.local {
		return nil
	}
	isAdded := map[string]bool{}
	for _, name := range names {
		for dir := path.Dir(localPath(name)); !isAdded[dir] && strings.HasPrefix(dir, localPath(f.root)); dir = path.Dir(dir) {
			isAdded[dir] = true
		}
	}
	folders := slices.Sorted(maps.Keys(isAdded))
	return eachIndex(f.workers(), len(folders), func(i int) error { return f.disk.Sync(folders[i]) })
}

// removeUncommitted removes the files that were not committed. If a removal fails, Expire removes the file
// later.
func (f *files) removeUncommitted() {
	created := f.uncommitted.drain()
	// If the storage has failed, it may not respond. A removal does not accept a context.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	go func() {
		defer cancel()
		_ = eachIndex(f.workers(), len(created), func(i int) error {
			if ctx.Err() == nil {
				_ = created[i].store.Remove(created[i].name)
			}
			return nil
		})
	}()
	<-ctx.Done()
}

// workers returns the number of files to read or write at the same time.
func (f *files) workers() int {
	const folderWorkers, networkWorkers = 4, 16
	if f.local {
		return folderWorkers
	}
	return networkWorkers
}

// eachIndex calls do with the numbers from 0 to n-1, several at a time. After an error it starts no more
// calls.
func eachIndex(workers, n int, do func(i int) error) error {
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(workers)
	for i := range n {
		g.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			return do(i)
		})
	}
	return g.Wait()
}

func (f *files) copyIn(from, to string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	w, err := f.Create(to)
	if err != nil {
		return err
	}
	_, err = w.ReadFrom(src)
	return errors.Join(err, w.Close())
}

// list returns the files below an address, and no files if the folder does not exist.
func (f *files) list(ctx context.Context, address string) (listed []bucket.Object, err error) {
	if !f.local {
		return f.listObjects(ctx, address)
	}
	err = filepath.WalkDir(localPath(address), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		listed = append(listed, bucket.Object{Name: "file://" + filepath.ToSlash(file), Bytes: info.Size(), StoredAt: info.ModTime()})
		return ctx.Err()
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return listed, err
}

// listObjects lists objects through the package bucket: iceberg-go v0.7.0 panics when it
// walks a bucket.
func (f *files) listObjects(ctx context.Context, address string) ([]bucket.Object, error) {
	rest, ok := strings.CutPrefix(address, "s3://")
	if !ok {
		return nil, fmt.Errorf("list %s: it is neither a folder nor an s3:// address", address)
	}
	bucketName, prefix, _ := strings.Cut(rest, "/")
	b, err := bucket.Open(ctx, f.s3, bucketName, "")
	if err != nil {
		return nil, err
	}
	objects, err := b.List(ctx, prefix+"/")
	for i := range objects {
		objects[i].Name = "s3://" + bucketName + "/" + objects[i].Name
	}
	return objects, err
}

// localView opens the local copy of a file of the lake, for any name that is passed to Open. So iceberg-go does
// not download the file.
type localView struct {
	icebergio.IO
	local string
}

func (v localView) Open(string) (icebergio.File, error) { return os.Open(v.local) }

func (f *files) readAll(name string) (data []byte, err error) {
	r, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(r)
}

// remove removes a file. A missing file is not an error.
func (f *files) remove(name string) error {
	err := f.disk.Do("removal", name, func() error { return f.Remove(name) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// checkAccess writes a file, reads it and removes it.
func (f *files) checkAccess() error {
	name, content := f.root+"/check-"+uuid.NewString(), []byte("placementsync\n")
	if err := f.WriteFile(name, content); err != nil {
		return err
	}
	got, err := f.readAll(name)
	if err == nil && !bytes.Equal(got, content) {
		err = errors.New("the file has different content when it is read back")
	}
	return errors.Join(err, f.Remove(name))
}
