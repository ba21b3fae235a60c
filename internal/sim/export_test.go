package sim

// Routes returns the patterns of all endpoints with GET, as in spec 4.2.
func (s *Service) Routes() []string {
	var patterns []string
	for _, rt := range s.routes {
		patterns = append(patterns, rt.pattern)
	}
	return patterns
}
