package object

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// An object of more than wholeSize bytes is sent in parts, so that a reset repeats a
// part and not all. mostParts is the limit of S3.
const (
	wholeSize = 64 << 20
	partSize  = 32 << 20
	mostParts = 10_000
)

// sumKey names the checksum among what is stored with an object.
const sumKey = "sha256"

// Put stores an object whose sum is known, whole or not at all: the server compares the
// checksum with what it received, and an object in parts becomes visible with its last
// request. from must have the bytes of the sum.
func (b *Bucket) Put(ctx context.Context, name string, from io.ReaderAt, sum Sum) error {
	if sum.Bytes > wholeSize {
		return b.newError("put", name, b.putParts(ctx, name, from, sum))
	}
	digest, err := encodeSum(sum.SHA256)
	if err == nil {
		_, err = b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.bucket, Key: b.key(name),
			Body: io.NewSectionReader(from, 0, sum.Bytes), ContentLength: &sum.Bytes,
			ChecksumSHA256: &digest, Metadata: map[string]string{sumKey: sum.SHA256}})
	}
	return b.newError("put", name, err)
}

// encodeSum writes a checksum as S3 has it.
func encodeSum(digits string) (string, error) {
	sum, err := hex.DecodeString(digits)
	if err != nil || len(sum) != sha256.Size {
		return "", fmt.Errorf("%q is not a SHA-256", digits)
	}
	return base64.StdEncoding.EncodeToString(sum), nil
}

// putParts sends an object in parts, and removes them when one fails.
func (b *Bucket) putParts(ctx context.Context, name string, from io.ReaderAt, sum Sum) (err error) {
	upload, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &b.bucket, Key: b.key(name),
		ChecksumAlgorithm: types.ChecksumAlgorithmSha256, Metadata: map[string]string{sumKey: sum.SHA256}})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.abort(ctx, upload.Key, upload.UploadId))
		}
	}()
	size := max(partSize, (sum.Bytes+mostParts-1)/mostParts)
	var parts []types.CompletedPart
	whole := sha256.New()
	for at := int64(0); at < sum.Bytes; at += size {
		body := io.NewSectionReader(from, at, min(size, sum.Bytes-at))
		h := sha256.New()
		if _, err := io.Copy(io.MultiWriter(h, whole), body); err != nil {
			return &localError{err}
		}
		digest := base64.StdEncoding.EncodeToString(h.Sum(nil))
		number := aws.Int32(int32(len(parts) + 1))
		res, err := b.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: &b.bucket, Key: b.key(name), UploadId: upload.UploadId,
			PartNumber: number, Body: io.NewSectionReader(from, at, body.Size()), ChecksumSHA256: &digest})
		if err != nil {
			return err
		}
		parts = append(parts, types.CompletedPart{ETag: res.ETag, PartNumber: number, ChecksumSHA256: &digest})
	}
	// The server compares the parts, and nobody but this process the whole.
	if hex.EncodeToString(whole.Sum(nil)) != sum.SHA256 {
		return &localError{ErrDiffers}
	}
	_, err = b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &b.bucket, Key: b.key(name),
		UploadId: upload.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}})
	return err
}

// abort removes the parts of an upload, also when the command is being stopped.
func (b *Bucket) abort(ctx context.Context, key, upload *string) error {
	const most = 3 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.bucket, Key: key, UploadId: upload})
	if err != nil {
		return fmt.Errorf("remove the parts of the upload, as a rule of the bucket for unfinished uploads would: %s", lastCause(err))
	}
	return nil
}

// AbortBefore removes the parts of uploads that began before a time and did not end, of
// objects whose names begin with a text.
func (b *Bucket) AbortBefore(ctx context.Context, begins string, before time.Time) (removed int, err error) {
	pages := s3.NewListMultipartUploadsPaginator(b.client, &s3.ListMultipartUploadsInput{Bucket: &b.bucket, Prefix: b.beginning(begins)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return removed, b.newError("list the unfinished uploads of", begins, err)
		}
		for u := range slices.Values(page.Uploads) {
			if u.Initiated == nil || !u.Initiated.Before(before) {
				continue // its program may be at work
			}
			if err := b.abort(ctx, u.Key, u.UploadId); err != nil {
				return removed, b.newError("clean", begins, err)
			}
			removed++
		}
	}
	return removed, nil
}
