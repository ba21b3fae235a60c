// Package object stores files in object storage that speaks S3: whole or not at all,
// with their checksums, and with bounded retries.
//
// It must not know what the objects mean: nothing of warehouses, days or backups. Keys
// are passed in; none of its errors contains one.
package object

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
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
)

// Config says how object storage is reached.
type Config struct {
	// Endpoint is the address of the server; "": that of AWS for the region.
	Endpoint string
	// Region is signed with each request; "": as the environment says, else us-east-1.
	Region string
	// PathStyle puts the bucket into the path, not into the name of the host.
	PathStyle bool
	// AccessKey and SecretKey sign requests; "": those of the environment, the profile
	// or the role of the machine.
	AccessKey, SecretKey string
	// Attempts is how often a request is sent until it succeeds. Defaults to 6.
	Attempts int
	// LongestWait bounds the time before an attempt. Defaults to 10 seconds.
	LongestWait time.Duration
	// Stall is how long a connection may neither send nor receive anything. Defaults
	// to a minute.
	Stall time.Duration
}

// AWS returns the configuration for clients of the AWS library, with the keys, retries
// and timeouts of c. It finds the keys, so that their absence is reported here.
func (c Config) AWS(ctx context.Context) (aws.Config, error) {
	c.Attempts, c.LongestWait, c.Stall = cmp.Or(c.Attempts, 6), cmp.Or(c.LongestWait, 10*time.Second), cmp.Or(c.Stall, time.Minute)
	options := []func(*config.LoadOptions) error{
		config.WithAppID("placementsync"),
		config.WithLogger(logging.Nop{}), // the default one writes to stderr by itself
		config.WithRetryer(c.newRetryer),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(c.setTransport)),
		// Get compares the checksum of the caller, which servers cannot compute anew.
		config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired),
	}
	if c.Region != "" {
		options = append(options, config.WithRegion(c.Region))
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
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return cfg, fmt.Errorf("find the keys of object storage: %s: set s3.access_key_file and s3.secret_key_file, or "+
			"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; nothing was sent", lastCause(err))
	}
	return cfg, nil
}

// newRetryer repeats what a later attempt can change: overload, timeouts, resets. It has
// no quota that all requests share, which would end them with an error of its own.
func (c Config) newRetryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff, o.RateLimiter = c.Attempts, c.LongestWait, ratelimit.None
		o.Retryables = append(o.Retryables, retry.RetryableHTTPStatusCode{Codes: map[int]struct{}{http.StatusTooManyRequests: {}}})
	})
}

// setTransport bounds how long a server may do nothing, whatever the size of an object.
func (c Config) setTransport(t *http.Transport) {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &stallingConn{conn, c.Stall}, nil
	}
	t.ResponseHeaderTimeout = c.Stall
	t.MaxIdleConnsPerHost = 16
}

// Transport returns a transport for other servers, with the same bounds.
func (c Config) Transport() *http.Transport {
	c.Stall = cmp.Or(c.Stall, time.Minute)
	t := http.DefaultTransport.(*http.Transport).Clone()
	c.setTransport(t)
	return t
}

// stallingConn fails when nothing was read or written for a while.
type stallingConn struct {
	net.Conn
	limit time.Duration
}

func (c *stallingConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *stallingConn) Write(p []byte) (int, error) {
	// For reading too: the answer is awaited since the connection was idle.
	if err := c.SetDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Bucket is a bucket, or what is below a prefix in it. Names of objects are relative to
// the prefix. It is safe for concurrent use.
type Bucket struct {
	client         *s3.Client
	bucket, prefix string
	retries        aws.Retryer
}

// Open returns a bucket without asking whether it exists.
func Open(ctx context.Context, c Config, bucket, prefix string) (*Bucket, error) {
	cfg, err := c.AWS(ctx)
	if err != nil {
		return nil, fmt.Errorf("open s3://%s: %w", path.Join(bucket, prefix), err)
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = c.PathStyle })
	return &Bucket{client, bucket, prefix, cfg.Retryer()}, nil
}

// Address is where an object is, for people; "" is the bucket with its prefix.
func (b *Bucket) Address(name string) string { return "s3://" + path.Join(b.bucket, b.prefix, name) }

func (b *Bucket) key(name string) *string { return aws.String(path.Join(b.prefix, name)) }

// beginning is what the keys of names begin with.
func (b *Bucket) beginning(begins string) *string {
	if b.prefix == "" {
		return aws.String(begins)
	}
	return aws.String(b.prefix + "/" + begins)
}

// Sum identifies the bytes of an object.
type Sum struct {
	Bytes int64
	// SHA256 is in hexadecimal digits.
	SHA256 string
}

// SumOf returns the sum of data.
func SumOf(data []byte) Sum {
	sum := sha256.Sum256(data)
	return Sum{int64(len(data)), hex.EncodeToString(sum[:])}
}

// Object is an entry of a list.
type Object struct {
	Name     string
	Bytes    int64
	StoredAt time.Time
}

// List returns the objects whose names begin with a text, in the order of their names.
func (b *Bucket) List(ctx context.Context, begins string) ([]Object, error) {
	var found []Object
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: b.beginning(begins)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, b.newError("list", begins, err)
		}
		for _, o := range page.Contents {
			name := strings.TrimPrefix(strings.TrimPrefix(aws.ToString(o.Key), b.prefix), "/")
			found = append(found, Object{name, aws.ToInt64(o.Size), aws.ToTime(o.LastModified)})
		}
	}
	return found, nil
}

// Delete removes objects. One that does not exist is no error.
func (b *Bucket) Delete(ctx context.Context, names ...string) error {
	const most = 1000 // of one request
	for len(names) > 0 {
		n := min(most, len(names))
		doomed := make([]types.ObjectIdentifier, n)
		for i, name := range names[:n] {
			doomed[i].Key = b.key(name)
		}
		res, err := b.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &b.bucket, Delete: &types.Delete{Objects: doomed, Quiet: aws.Bool(true)}})
		if err != nil {
			return b.newError("delete", names[0], err)
		}
		for _, e := range res.Errors {
			if code := aws.ToString(e.Code); code != "NoSuchKey" {
				return fmt.Errorf("delete s3://%s/%s: the server answered %s", b.bucket, aws.ToString(e.Key), code)
			}
		}
		names = names[n:]
	}
	return nil
}

// Read returns an object of at most so many bytes.
func (b *Bucket) Read(ctx context.Context, name string, most int64) (data []byte, err error) {
	err = b.getBody(ctx, name, func(body io.Reader, size int64) (err error) {
		if size > most {
			return &sizeError{size, most}
		}
		data, err = io.ReadAll(io.LimitReader(body, most+1))
		if err == nil && int64(len(data)) != size {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
	return data, err
}

// Get writes an object to a place that is still empty, and compares it with its sum.
// Each attempt calls begin for a new beginning. What was written is not to be believed
// after an error.
func (b *Bucket) Get(ctx context.Context, name string, want Sum, begin func() (io.Writer, error)) error {
	return b.getBody(ctx, name, func(body io.Reader, _ int64) error {
		to, err := begin()
		if err != nil {
			return err
		}
		h := sha256.New()
		n, err := io.Copy(io.MultiWriter(localWriter{to}, h), io.LimitReader(body, want.Bytes+1))
		if err == nil && (n != want.Bytes || hex.EncodeToString(h.Sum(nil)) != want.SHA256) {
			err = ErrDiffers
		}
		return err
	})
}

// getBody repeats a request whose body broke off: the library repeats only up to the
// headers.
func (b *Bucket) getBody(ctx context.Context, name string, read func(body io.Reader, size int64) error) error {
	for attempt := 1; ; attempt++ {
		res, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: b.key(name)})
		if err != nil {
			return b.newError("get", name, err)
		}
		err = errors.Join(read(res.Body, aws.ToInt64(res.ContentLength)), res.Body.Close())
		// Other bytes may come of the way, and a second time they are what is stored.
		final := errors.As(err, new(*localError)) || errors.As(err, new(*sizeError)) || errors.Is(err, ErrDiffers) && attempt > 1
		if err == nil {
			return nil
		}
		if final || attempt == b.retries.MaxAttempts() || ctx.Err() != nil {
			return b.newError("get", name, &retry.MaxAttemptsError{Attempt: attempt, Err: err})
		}
		if err := b.wait(ctx, attempt, err); err != nil {
			return b.newError("get", name, err)
		}
	}
}

// wait pauses before the next attempt.
func (b *Bucket) wait(ctx context.Context, attempt int, cause error) error {
	pause, err := b.retries.RetryDelay(attempt, cause)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// localWriter marks the errors of the place that is written to: to ask again does not
// help.
type localWriter struct{ to io.Writer }

func (w localWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil {
		err = &localError{err}
	}
	return n, err
}

// PutBytes stores a small object.
func (b *Bucket) PutBytes(ctx context.Context, name string, data []byte) error {
	return b.Put(ctx, name, bytes.NewReader(data), SumOf(data))
}
