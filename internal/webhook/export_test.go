package webhook

// IsSignedBy exports isSignedBy.
var IsSignedBy = isSignedBy
