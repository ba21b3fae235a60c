package command

import "time"

// Host contains the functions that tests of both programs replace.
type Host struct {
	// LookupEnv is os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// Now is time.Now.
	Now func() time.Time
	// Step, if set, is called before and after each change of the storage.
	Step func(name, path string) error
}
