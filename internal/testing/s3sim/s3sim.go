// Package s3sim is a server of S3 in this process, for tests: buckets in memory that
// list page by page, compare checksums, keep unfinished uploads, and fail on request.
//
// It must not share code with internal/object: it is a second reading of S3, and tests
// nothing otherwise. It does not check signatures; trials use a real server for that, the
// [Gateway].
package s3sim

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// AccessKey and SecretKey are those that the server accepts.
const (
	AccessKey = "AKIASIM"
	SecretKey = "hunter2-secret-of-the-bucket"
)

// Server answers requests with the bucket in the path.
type Server struct {
	// Fail, if set, may answer a request in place of the server; true: it did. It is
	// called for one request at a time.
	Fail func(w http.ResponseWriter, r *http.Request) bool
	// PageSize is how many objects a list has at most. Defaults to 1000.
	PageSize int
	// Now is the time that objects and uploads are stored at. Defaults to time.Now.
	Now func() time.Time

	mu      sync.Mutex
	buckets map[string]map[string][]byte
	// storedAt has the time of each object, by bucket and key.
	storedAt map[string]time.Time
	uploads  map[string]*upload
	// requests counts answers by method.
	requests map[string]int
}

type upload struct {
	bucket, key string
	begunAt     time.Time
	parts       map[int][]byte
}

// New returns a server with buckets that are empty.
func New(buckets ...string) *Server {
	s := &Server{PageSize: 1000, Now: time.Now, buckets: map[string]map[string][]byte{}, storedAt: map[string]time.Time{}, uploads: map[string]*upload{}, requests: map[string]int{}}
	for _, name := range buckets {
		s.buckets[name] = map[string][]byte{}
	}
	return s
}

// Objects returns what a bucket holds, by name.
func (s *Server) Objects(bucket string) map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.buckets[bucket])
}

// Change passes what a bucket holds to a function that may change it; nil removes the
// bucket.
func (s *Server) Change(bucket string, change func(objects map[string][]byte)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if change == nil {
		delete(s.buckets, bucket)
		return
	}
	change(s.buckets[bucket])
}

// Uploads counts uploads in parts that did not end.
func (s *Server) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.uploads)
}

// Requests returns the number of requests by method.
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone: nothing was stored
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[r.Method]++
	if s.Fail != nil && s.Fail(w, r) {
		return
	}
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	objects, known := s.buckets[name]
	switch {
	case !strings.Contains(r.Header.Get("Authorization"), "Credential="+AccessKey+"/"):
		Refuse(w, http.StatusForbidden, "InvalidAccessKeyId")
	case !known:
		Refuse(w, http.StatusNotFound, "NoSuchBucket")
	case !isWhole(r, body):
		Refuse(w, http.StatusBadRequest, "BadDigest")
	case key == "":
		s.serveBucket(w, r, name, objects, body)
	case r.URL.Query().Has("uploads") || r.URL.Query().Has("uploadId"):
		s.serveUpload(w, r, name, key, body)
	default:
		if r.Method == http.MethodPut {
			s.storedAt[name+"/"+key] = s.Now()
		}
		serveObject(w, r, objects, key, body)
	}
}

// Refuse answers with an error.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	// An error means that the client is gone.
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>as the test wants it</Message></Error>", code)
}

func isWhole(r *http.Request, body []byte) bool {
	sum := sha256.Sum256(body)
	if want := r.Header.Get("X-Amz-Checksum-Sha256"); want != "" && want != base64.StdEncoding.EncodeToString(sum[:]) {
		return false
	}
	want := r.Header.Get("X-Amz-Content-Sha256")
	return len(want) != 2*sha256.Size || want == hex.EncodeToString(sum[:])
}

func etag(body []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(body)) }

func serveObject(w http.ResponseWriter, r *http.Request, objects map[string][]byte, key string, body []byte) {
	switch r.Method {
	case http.MethodPut:
		objects[key] = body
		w.Header().Set("ETag", etag(body))
	case http.MethodDelete:
		delete(objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		data, ok := objects[key]
		if !ok {
			Refuse(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", etag(data))
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data) // an error means that the client is gone
	}
}

// entry is an object of a list, or of a request to delete.
type entry struct {
	Key          string
	Size         int
	LastModified string `xml:",omitempty"`
}

// timeText writes a time as S3 does; one that is not known is left out.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func (s *Server) serveBucket(w http.ResponseWriter, r *http.Request, name string, objects map[string][]byte, body []byte) {
	ask := r.URL.Query()
	switch {
	case ask.Has("delete"):
		var doomed struct {
			Object []entry `xml:"Object"`
		}
		if err := xml.Unmarshal(body, &doomed); err != nil {
			Refuse(w, http.StatusBadRequest, "MalformedXML")
			return
		}
		for _, o := range doomed.Object {
			delete(objects, o.Key)
		}
		answer(w, struct {
			XMLName xml.Name `xml:"DeleteResult"`
		}{})
	case ask.Has("uploads"):
		type entry struct {
			Key       string
			UploadID  string `xml:"UploadId"`
			Initiated string
		}
		var list struct {
			XMLName xml.Name `xml:"ListMultipartUploadsResult"`
			Upload  []entry
		}
		for id, u := range s.uploads {
			if u.bucket == name && strings.HasPrefix(u.key, ask.Get("prefix")) {
				list.Upload = append(list.Upload, entry{u.key, id, timeText(u.begunAt)})
			}
		}
		answer(w, list)
	default:
		s.list(w, name, ask.Get("prefix"), ask.Get("continuation-token"))
	}
}

func (s *Server) list(w http.ResponseWriter, name, prefix, after string) {
	objects := s.buckets[name]
	var list struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []entry
	}
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		if !strings.HasPrefix(key, prefix) || key <= after {
			continue
		}
		if len(list.Contents) == s.PageSize {
			list.IsTruncated, list.NextContinuationToken = true, list.Contents[s.PageSize-1].Key
			break
		}
		list.Contents = append(list.Contents, entry{key, len(objects[key]), timeText(s.storedAt[name+"/"+key])})
	}
	answer(w, list)
}

func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request, name, key string, body []byte) {
	id := r.URL.Query().Get("uploadId")
	u := s.uploads[id]
	switch {
	case r.URL.Query().Has("uploads"):
		id = strconv.Itoa(len(s.requests)*1000 + s.requests[http.MethodPost])
		s.uploads[id] = &upload{name, key, s.Now(), map[int][]byte{}}
		answer(w, struct {
			XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
			Key      string
			UploadID string `xml:"UploadId"`
		}{Key: key, UploadID: id})
	case u == nil:
		Refuse(w, http.StatusNotFound, "NoSuchUpload")
	case r.Method == http.MethodPut:
		number, _ := strconv.Atoi(r.URL.Query().Get("partNumber"))
		u.parts[number] = body
		w.Header().Set("ETag", etag(body))
	case r.Method == http.MethodDelete:
		delete(s.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	default:
		var whole []byte
		for _, number := range slices.Sorted(maps.Keys(u.parts)) {
			whole = append(whole, u.parts[number]...)
		}
		s.buckets[name][key], s.storedAt[name+"/"+key] = whole, s.Now()
		delete(s.uploads, id)
		answer(w, struct {
			XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
			Key     string
			ETag    string
		}{Key: key, ETag: etag(whole)})
	}
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(body) // an error means that the client is gone
}
