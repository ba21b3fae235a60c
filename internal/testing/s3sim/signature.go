package s3sim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
)

// authorization matches the header Authorization of Signature Version 4.
var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=[^/]+/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$`)

// hasSignature reports whether the request has a valid Signature Version 4. If keepsAcceptEncoding is false, it expects
// the signature that Google Cloud Storage computes after its proxy has appended gzip(gfe) to Accept-Encoding.
func hasSignature(r *http.Request, keepsAcceptEncoding bool) bool {
	parts := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if parts == nil {
		return false
	}
	scope, signedHeaders, signature := parts[1], parts[2], parts[3]
	path, _, _ := strings.Cut(r.RequestURI, "?")
	query := strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20")
	request := []string{r.Method, path, query}
	for name := range strings.SplitSeq(signedHeaders, ";") {
		value := strings.Join(r.Header.Values(name), ",")
		switch {
		case name == "host":
			value = r.Host
		case name == "accept-encoding" && !keepsAcceptEncoding:
			value += ",gzip(gfe)"
		}
		request = append(request, name+":"+strings.TrimSpace(value))
	}
	request = append(request, "", signedHeaders, r.Header.Get("X-Amz-Content-Sha256"))
	digest := sha256.Sum256([]byte(strings.Join(request, "\n")))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), scope, hex.EncodeToString(digest[:])}, "\n")
	key := []byte("AWS4" + SecretKey)
	for part := range strings.SplitSeq(scope, "/") { // day, region, service and aws4_request
		key = hmacOf(key, part)
	}
	return hex.EncodeToString(hmacOf(key, text)) == signature
}

func hmacOf(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
