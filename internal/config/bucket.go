package config

import (
	"errors"
	"path"
	"regexp"
	"strings"
)

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	// S3 allows other characters in object keys too, but not every server does.
	prefixName = regexp.MustCompile(`^[A-Za-z0-9!_.*'()/=+@-]*$`)
	regionName = regexp.MustCompile(`^[A-Za-z0-9-]*$`)
)

// BucketScheme begins every address in object storage.
const BucketScheme = "s3://"

// ParseBucket splits s3://bucket/prefix. The returned prefix has no leading or trailing
// slash and may be empty. The error does not quote the address, which may contain
// credentials.
func ParseBucket(address string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(address, BucketScheme)
	bucket, prefix, _ = strings.Cut(rest, "/")
	prefix = strings.TrimRight(prefix, "/")
	switch {
	case !ok:
		return "", "", errors.New("is not an address in object storage: write one such as s3://bucket/prefix")
	case strings.ContainsAny(bucket, "@:"):
		return "", "", errors.New("contains credentials or a port: write s3://bucket/prefix, and use the section s3")
	case !bucketName.MatchString(bucket):
		return "", "", errors.New("does not name a bucket: write s3://bucket/prefix, where bucket has 3 to 63 lower-case letters, digits, dots and hyphens")
	// Clean changes a path with an empty segment, "." or "..".
	case !prefixName.MatchString(prefix) || path.Clean("/"+prefix) != "/"+prefix:
		return "", "", errors.New("has a prefix that not every server accepts: use letters, digits, and - _ . between single slashes")
	}
	return bucket, prefix, nil
}

func (v *validator) checkBucket(key, address string) {
	if address == "" {
		return
	}
	if _, _, err := ParseBucket(address); err != nil {
		v.addProblem(key, "%v", err)
	}
}

func (v *validator) checkS3(s S3) {
	const endpoint = "s3.endpoint"
	if s.Endpoint != "" {
		u := v.checkAddress(webAddress{path: endpoint, text: s.Endpoint, example: "https://s3.example.com",
			credentialAdvice: "remove them and use s3.access_key_file and s3.secret_key_file", allowPlain: s.AllowInsecure,
			plainProblem: "would transfer the stored data unencrypted: use https, or set s3.allow_insecure: true"})
		if u != nil && (strings.Trim(u.Path, "/") != "" || strings.ContainsAny(s.Endpoint, "?#")) {
			v.refuse(endpoint, originOf(u), "is followed by a path, query or fragment: end it with the host, and name the bucket in an address such as s3://bucket/prefix")
		}
	}
	if !regionName.MatchString(s.Region) {
		v.refuse("s3.region", s.Region, "is not a region: write one such as eu-central-1")
	}
	missing, given := "s3.access_key_file", "s3.secret_key_file"
	if s.AccessKeyFile != "" {
		missing, given = given, missing
	}
	isOneMissing := (s.AccessKeyFile == "") != (s.SecretKeyFile == "")
	if isOneMissing && !v.broken[missing] && !v.broken[given] {
		v.addProblem(missing, "is empty, and %s is set: give both files; to use the keys of the environment, give neither", given)
	}
}
