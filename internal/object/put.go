package object

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"placementsync/internal/checksum"
)

// An object of more than multipartSize bytes is sent in parts. After a connection reset, only one
// part is sent again.
const (
	multipartSize = 64 << 20
	minPartSize   = 32 << 20
	maxParts      = 10_000 // the limit of S3
)

// sumKey is the key of the checksum in the metadata of an object.
const sumKey = "sha256"

// Put stores an object atomically. The server compares the received bytes with their checksum. An
// object that is sent in parts becomes visible with the last request. content must have the size and
// the checksum in sum.
func (b *Bucket) Put(ctx context.Context, name string, content io.ReaderAt, sum checksum.FileSum) error {
	if sum.Bytes > multipartSize {
		return b.newError("put", name, b.putParts(ctx, name, content, sum))
	}
	digest, err := encodeSum(sum.SHA256)
	if err == nil {
		_, err = b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.bucket, Key: b.objectKey(name),
			Body: io.NewSectionReader(content, 0, sum.Bytes), ContentLength: &sum.Bytes,
			ChecksumSHA256: &digest, Metadata: map[string]string{sumKey: sum.SHA256}})
	}
	return b.newError("put", name, err)
}

// encodeSum converts a checksum from hex to base64, the form of S3.
func encodeSum(digits string) (string, error) {
	sum, err := hex.DecodeString(digits)
	if err != nil || len(sum) != sha256.Size {
		return "", fmt.Errorf("%q is not a SHA-256", digits)
	}
	return base64.StdEncoding.EncodeToString(sum), nil
}

// putParts sends an object in parts. After an error it removes the sent parts.
func (b *Bucket) putParts(ctx context.Context, name string, content io.ReaderAt, sum checksum.FileSum) (err error) {
	upload, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &b.bucket, Key: b.objectKey(name),
		ChecksumAlgorithm: types.ChecksumAlgorithmSha256, Metadata: map[string]string{sumKey: sum.SHA256}})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.abort(ctx, upload.Key, upload.UploadId))
		}
	}()
	partSize := max(minPartSize, (sum.Bytes+maxParts-1)/maxParts)
	var parts []types.CompletedPart
	wholeHash := sha256.New()
	for offset := int64(0); offset < sum.Bytes; offset += partSize {
		body := io.NewSectionReader(content, offset, min(partSize, sum.Bytes-offset))
		partHash := sha256.New()
		if _, err := io.Copy(io.MultiWriter(partHash, wholeHash), body); err != nil {
			return &localError{err}
		}
		digest := base64.StdEncoding.EncodeToString(partHash.Sum(nil))
		number := aws.Int32(int32(len(parts) + 1))
		res, err := b.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: &b.bucket, Key: b.objectKey(name), UploadId: upload.UploadId,
			PartNumber: number, Body: io.NewSectionReader(content, offset, body.Size()), ChecksumSHA256: &digest})
		if err != nil {
			return err
		}
		parts = append(parts, types.CompletedPart{ETag: res.ETag, PartNumber: number, ChecksumSHA256: &digest})
	}
	// The server compared only the checksums of the parts.
	if hex.EncodeToString(wholeHash.Sum(nil)) != sum.SHA256 {
		return &localError{ErrDiffers}
	}
	_, err = b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &b.bucket, Key: b.objectKey(name),
		UploadId: upload.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}})
	return err
}

// abort removes the parts of an upload, even if ctx is cancelled.
func (b *Bucket) abort(ctx context.Context, key, uploadID *string) error {
	const timeout = 3 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.bucket, Key: key, UploadId: uploadID})
	if err != nil {
		return fmt.Errorf("remove the parts of the upload: %s: add a lifecycle rule for unfinished uploads to the bucket", describeError(err))
	}
	return nil
}

// AbortBefore removes the parts of unfinished uploads that began before a time, for objects
// whose names have a prefix.
func (b *Bucket) AbortBefore(ctx context.Context, namePrefix string, before time.Time) (removed int, err error) {
	pages := s3.NewListMultipartUploadsPaginator(b.client, &s3.ListMultipartUploadsInput{Bucket: &b.bucket, Prefix: b.objectKeyPrefix(namePrefix)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return removed, b.newError("list the unfinished uploads of", namePrefix, err)
		}
		for _, u := range page.Uploads {
			if u.Initiated == nil || !u.Initiated.Before(before) {
				continue // another program may be sending the parts
			}
			if err := b.abort(ctx, u.Key, u.UploadId); err != nil {
				return removed, b.newError("remove unfinished uploads of", namePrefix, err)
			}
			removed++
		}
	}
	return removed, nil
}
