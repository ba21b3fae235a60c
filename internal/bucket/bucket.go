// Package bucket reads and writes objects in S3 storage. It writes each object atomically, with
// its checksum and a limited number of retries.
//
// Backup, export and the lake use aws-sdk-go-v2, as the lake's library does: same version, keys, retries and
// timeouts. An object of up to 64 MB is one request with its SHA-256, so it is stored completely or not at all.
// Errors have the server's code and words of this package, because the library's texts contain addresses and ids.
//
// The package must not know warehouses, days or backups. Errors never contain the access keys.
package bucket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"

	"placementsync/internal/checksum"
)

// Config is the connection to object storage.
type Config struct {
	// Endpoint is the address of the server. Empty means AWS in the region.
	Endpoint string
	// Region is the region for signatures. Empty means the region of the environment, or else
	// us-east-1.
	Region string
	// PathStyle puts the bucket into the path instead of the host name.
	PathStyle bool
	// AccessKey and SecretKey sign requests. Empty means the keys of the environment, the
	// profile or the role of the machine.
	AccessKey, SecretKey string
	// MaxAttempts is the maximum number of times that a request is sent. Defaults to 6.
	MaxAttempts int
	// MaxPause limits the pause before an attempt. Defaults to 10 seconds.
	MaxPause time.Duration
	// Stall limits the time in which a connection sends and receives no bytes. Defaults to a
	// minute.
	Stall time.Duration
}

// AWS returns the configuration for clients of the AWS library, with the access keys, retries
// and timeouts of c. It returns an error if there are no access keys.
func (c Config) AWS(ctx context.Context) (aws.Config, error) {
	c.MaxAttempts, c.MaxPause, c.Stall = cmp.Or(c.MaxAttempts, 6), cmp.Or(c.MaxPause, 10*time.Second), cmp.Or(c.Stall, time.Minute)
	options := []func(*config.LoadOptions) error{
		config.WithAppID("placementsync"),
		config.WithRegion(c.Region),      // empty means that of the environment
		config.WithLogger(logging.Nop{}), // the default writes to stderr
		config.WithRetryer(c.newRetryer),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(c.setTransport)),
		// Get compares the bytes with the checksum that its caller passes.
		config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired),
	}
	if c.AccessKey != "" {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, "")))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, fmt.Errorf("read the settings of object storage from environment and profile: %w", err)
	}
	cfg.Region = cmp.Or(cfg.Region, "us-east-1")
	if c.Endpoint != "" {
		cfg.BaseEndpoint = aws.String(c.Endpoint)
	}
	cfg.APIOptions = append(cfg.APIOptions, leaveEncodingUnsigned)
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return cfg, fmt.Errorf("find the keys of object storage: %s: set s3.access_key_file and s3.secret_key_file, or "+
			"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; no request was sent", describeError(err))
	}
	return cfg, nil
}

// leaveEncodingUnsigned sets the header Accept-Encoding after the signature, not before it. Google Cloud
// Storage rewrites this header on its way, and then rejects a signature that covers it.
func leaveEncodingUnsigned(stack *middleware.Stack) error {
	const setEncoding, sign = "DisableAcceptEncodingGzip", "Signing"
	step, err := stack.Finalize.Remove(setEncoding)
	if err != nil {
		return err
	}
	return stack.Finalize.Insert(step, sign, middleware.After)
}

// newRetryer sets no quota of retries for all requests together, because the error of an exhausted quota would
// hide the real error.
func (c Config) newRetryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff, o.RateLimiter = c.MaxAttempts, c.MaxPause, ratelimit.None
	})
}

// setTransport does not limit the total time of a request, because objects can be large.
func (c Config) setTransport(t *http.Transport) {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &limitedConn{conn, c.Stall}, nil
	}
	t.ResponseHeaderTimeout = c.Stall
	t.MaxIdleConnsPerHost = 16
}

// Transport returns a transport with the time limits of c, for servers other than object storage.
func (c Config) Transport() *http.Transport {
	c.Stall = cmp.Or(c.Stall, time.Minute)
	t := http.DefaultTransport.(*http.Transport).Clone()
	c.setTransport(t)
	return t
}

// limitedConn is a connection with a limit for the time of one Read or Write.
type limitedConn struct {
	net.Conn
	limit time.Duration
}

func (c *limitedConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *limitedConn) Write(p []byte) (int, error) {
	// This also extends the deadline of a Read that waits for the response.
	if err := c.SetDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Bucket is a bucket or a prefix in a bucket. Names of objects are relative to the prefix. A Bucket
// is safe for concurrent use.
type Bucket struct {
	client         *s3.Client
	bucket, prefix string
	retries        aws.Retryer
}

// Open returns a bucket. It does not check that the bucket exists.
func Open(ctx context.Context, c Config, bucket, prefix string) (*Bucket, error) {
	cfg, err := c.AWS(ctx)
	if err != nil {
		return nil, fmt.Errorf("open s3://%s: %w", path.Join(bucket, prefix), err)
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = c.PathStyle })
	return &Bucket{client, bucket, prefix, cfg.Retryer()}, nil
}

// Address returns the s3:// address of an object, or of the bucket with its prefix if name is
// empty.
func (b *Bucket) Address(name string) string { return "s3://" + path.Join(b.bucket, b.prefix, name) }

func (b *Bucket) objectKey(name string) *string { return aws.String(path.Join(b.prefix, name)) }

func (b *Bucket) objectKeyPrefix(namePrefix string) *string {
	if b.prefix == "" {
		return aws.String(namePrefix)
	}
	return aws.String(b.prefix + "/" + namePrefix)
}

// Object describes a stored object.
type Object struct {
	Name     string
	Bytes    int64
	StoredAt time.Time
}

// List returns the objects whose names have a prefix, sorted by name.
func (b *Bucket) List(ctx context.Context, namePrefix string) ([]Object, error) {
	var objects []Object
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: b.objectKeyPrefix(namePrefix)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, b.newError("list", namePrefix, err)
		}
		for _, o := range page.Contents {
			name := strings.TrimPrefix(strings.TrimPrefix(aws.ToString(o.Key), b.prefix), "/")
			objects = append(objects, Object{name, aws.ToInt64(o.Size), aws.ToTime(o.LastModified)})
		}
	}
	// Some servers, such as S3 Express, list the objects in another order.
	slices.SortFunc(objects, func(x, y Object) int { return strings.Compare(x.Name, y.Name) })
	return objects, nil
}

// Delete removes objects. A missing object is not an error.
func (b *Bucket) Delete(ctx context.Context, names ...string) error {
	const maxObjects = 1000 // the limit of S3 for one request
	for len(names) > 0 {
		n := min(maxObjects, len(names))
		objects := make([]types.ObjectIdentifier, n)
		for i, name := range names[:n] {
			objects[i].Key = b.objectKey(name)
		}
		res, err := b.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &b.bucket, Delete: &types.Delete{Objects: objects, Quiet: aws.Bool(true)}})
		if err != nil {
			return b.newError("delete", names[0], err)
		}
		for _, e := range res.Errors {
			if code := aws.ToString(e.Code); code != "NoSuchKey" {
				return fmt.Errorf("delete s3://%s/%s: the server returned %s", b.bucket, aws.ToString(e.Key), cleanCode(code))
			}
		}
		names = names[n:]
	}
	return nil
}

// Read returns the bytes of an object. A size above limit is an error.
func (b *Bucket) Read(ctx context.Context, name string, limit int64) (data []byte, err error) {
	err = b.getBody(ctx, name, func(body io.Reader, size int64) (err error) {
		if size > limit {
			return &sizeError{size, limit}
		}
		data, err = io.ReadAll(io.LimitReader(body, limit+1))
		if int64(len(data)) > limit {
			return &sizeError{int64(len(data)), limit} // the response states no length
		}
		return err
	})
	return data, err
}

// Get copies an object to a writer and compares it with want. Each attempt calls newWriter, which
// must discard the bytes of the previous attempt. After an error the written bytes are not valid.
func (b *Bucket) Get(ctx context.Context, name string, want checksum.FileSum, newWriter func() (io.Writer, error)) error {
	return b.getBody(ctx, name, func(body io.Reader, _ int64) error {
		to, err := newWriter()
		if err != nil {
			return err
		}
		h := sha256.New()
		// One byte more than wanted shows that the object has grown.
		_, err = io.Copy(io.MultiWriter(localWriter{to}, h), io.LimitReader(body, want.Bytes+1))
		if err == nil && hex.EncodeToString(h.Sum(nil)) != want.SHA256 {
			err = ErrDiffers
		}
		return err
	})
}

// getBody requests an object and calls read with its body. It repeats the request if the body is
// incomplete, because the library retries only until it has received the headers.
func (b *Bucket) getBody(ctx context.Context, name string, read func(body io.Reader, size int64) error) error {
	for attempt := 1; ; attempt++ {
		res, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: b.objectKey(name)})
		if err != nil {
			return b.newError("get", name, err)
		}
		err = errors.Join(read(res.Body, aws.ToInt64(res.ContentLength)), res.Body.Close())
		if err == nil {
			return nil
		}
		isPermanent := errors.As(err, new(*localError)) || errors.As(err, new(*sizeError))
		// Wrong bytes may be an error of the transfer. If they are wrong twice, the stored object is damaged.
		isDamaged := errors.Is(err, ErrDiffers) && attempt > 1
		if isPermanent || isDamaged || attempt == b.retries.MaxAttempts() {
			return b.newError("get", name, &retry.MaxAttemptsError{Attempt: attempt, Err: err})
		}
		pause, err := b.retries.RetryDelay(attempt, err)
		if err != nil {
			return b.newError("get", name, err)
		}
		select {
		case <-ctx.Done():
			return b.newError("get", name, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// localWriter wraps its errors in a *localError, which getBody does not retry.
type localWriter struct{ to io.Writer }

func (w localWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil {
		err = &localError{err}
	}
	return n, err
}

// maxObjectBytes is the limit of S3 for one request.
const maxObjectBytes = 5 << 30

// Put stores an object atomically. It returns an error if the object has more than 5 GiB. The server compares the
// received bytes with sum.
func (b *Bucket) Put(ctx context.Context, name string, content io.ReaderAt, sum checksum.FileSum) error {
	if sum.Bytes > maxObjectBytes {
		return b.newError("put", name, fmt.Errorf("the file has %d bytes, more than the 5 GiB that S3 accepts in one request", sum.Bytes))
	}
	digest, err := hex.DecodeString(sum.SHA256)
	if err == nil {
		_, err = b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.bucket, Key: b.objectKey(name),
			Body:           io.NewSectionReader(content, 0, sum.Bytes),
			ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(digest))})
	}
	return b.newError("put", name, err)
}

// PutBytes stores a small object.
func (b *Bucket) PutBytes(ctx context.Context, name string, data []byte) error {
	return b.Put(ctx, name, bytes.NewReader(data), checksum.SumText(name, data))
}
