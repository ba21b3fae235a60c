package mcp

// Serve is like Run, for any transport.
var Serve = serve
