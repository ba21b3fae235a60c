package webhook

// IsSigned exports isSigned, with the signing keys of secrets.
func IsSigned(secrets []string, header string, body []byte) bool {
	keys, err := signingKeys(secrets)
	return err == nil && isSigned(keys, header, body)
}
