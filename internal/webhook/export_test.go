package webhook

// Signed checks a signature header as the receiver does.
func Signed(secrets []string, header string, body []byte) bool {
	keys, err := keysOf(secrets)
	return err == nil && signed(keys, header, body)
}
