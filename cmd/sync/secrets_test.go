package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"placementsync/internal/fetch"
)

// echoToken adds the Authorization header with the token to a response, like a debugging
// gateway.
func (s *scriptEnv) echoToken(body []byte) []byte {
	return bytes.Replace(body, []byte("{"), fmt.Appendf(nil, `{"echoed":"Authorization: Bearer %s",`, s.token), 1)
}

// leavesNo searches all files below folders, and the decompressed bodies of stored responses, for a secret.
func leavesNo(ts *testscript.TestScript, neg bool, args []string) {
	requireUsage(ts, !neg && len(args) >= 2 && args[0] != "", "leaves-no SECRET DIR...")
	fileCount, responseCount := 0, 0
	for _, dir := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if bytes.Contains(data, []byte(args[0])) {
				ts.Fatalf("the secret %q is in %s", args[0], path)
			}
			fileCount++
			if e.Name() == "journal.jsonl" {
				responseCount += searchResponses(ts, filepath.Dir(path), args[0])
			}
			return err
		}))
	}
	fmt.Fprintf(ts.Stdout(), "searched %d files and %d responses\n", fileCount, responseCount)
}

// searchResponses searches the stored responses of a run, and returns their number.
func searchResponses(ts *testscript.TestScript, dir, secret string) (count int) {
	stored, err := fetch.OpenStoredResponses(dir)
	ts.Check(err)
	defer stored.Close()
	for response, err := range stored.All() {
		ts.Check(err)
		body, err := stored.Body(response)
		ts.Check(err)
		if bytes.Contains(body, []byte(secret)) {
			ts.Fatalf("stored response %[2]d of %[3]s contains the secret %[1]q: %[4]s", secret, response.Seq, response.Stream, body)
		}
		count++
	}
	return count
}

// TestNoFlagTakesSecret checks that no flag takes a secret, because all users can read the
// list of processes. The allowed flags take the name of a file or of an environment variable, or no value.
func TestNoFlagTakesSecret(t *testing.T) {
	allowed := []string{"token-file", "token-env", "no-token"}
	secretPattern := regexp.MustCompile(`token|secret|key|passw|credential|auth`)
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		check := func(f *pflag.Flag) {
			if !slices.Contains(allowed, f.Name) && (secretPattern.MatchString(f.Name) || secretPattern.MatchString(f.Usage)) {
				t.Errorf("%s has the flag --%s (%s), want no flag that takes a secret", c.CommandPath(), f.Name, f.Usage)
			}
		}
		c.LocalFlags().VisitAll(check)
		for _, subcommand := range c.Commands() {
			visit(subcommand)
		}
	}
	visit(newRoot(&globals{}))
}
