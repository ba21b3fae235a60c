package config

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// What others than the owner of a file may do with it.
const (
	groupWrites fs.FileMode = 0o020
	othersRead  fs.FileMode = 0o004
	othersWrite fs.FileMode = 0o002
)

// secretFile is a file that holds a secret, and the key that names it.
type secretFile struct {
	key  string
	path *string
}

// variableFile is a file that NAME_FILE named for a key.
type variableFile struct {
	line      int
	key, path string
	isSecret  bool
}

func (c *Config) secretFiles() []secretFile {
	all := []secretFile{
		{"api.token_file", &c.API.TokenFile}, {"s3.access_key_file", &c.S3.AccessKeyFile}, {"s3.secret_key_file", &c.S3.SecretKeyFile},
		{"lake.postgres_password_file", &c.Lake.PostgresPasswordFile},
		{"lake.rest.token_file", &c.Lake.REST.TokenFile}, {"lake.rest.credential_file", &c.Lake.REST.CredentialFile},
	}
	for i := range c.Notify.Channels {
		all = append(all, secretFile{fmt.Sprintf("notify.channels[%d].smtp.password_file", i), &c.Notify.Channels[i].SMTP.PasswordFile})
	}
	return all
}

// checkFile refuses a configuration file that everybody may write: whoever does can send
// the token elsewhere.
func (b *binder) checkFile(file string, c *Config) {
	switch mode := modeOf(file); {
	case mode&othersWrite != 0:
		b.addProblem(0, "", "can be written by every user of this machine, who could send the token elsewhere: chmod o-w it")
	case mode&othersRead != 0 && len(b.secrets) > 0:
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s can be read by every user of this machine, and %s is in it: chmod o-rwx it, or write ${NAME} for the value", file, b.secrets[0]))
	}
}

// checkSecretFiles does the same for the files that hold a secret each, and for those that
// variables named: whoever may write an address can have the token sent there. A group
// keeps the right to read: it may be that of the user whom the service runs as.
func (b *binder) checkSecretFiles(c *Config) {
	files := b.files
	for _, f := range c.secretFiles() {
		if *f.path != "" {
			files = append(files, variableFile{b.lines[f.key], f.key, *f.path, true})
		}
	}
	for _, f := range files {
		switch mode := modeOf(f.path); {
		case mode&othersWrite != 0:
			b.addProblem(f.line, f.key, "%q can be written by every user of this machine: chmod g-w,o-rwx it, and renew what is in it", f.path)
		case f.isSecret && mode&(othersRead|groupWrites) != 0:
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s %q can be read by every user of this machine or written by its group: chmod g-w,o-rwx it", f.key, f.path))
		}
	}
}

// modeOf is the mode of a file; 0 where it says nothing about others, or there is no file,
// which whoever reads it reports.
func modeOf(file string) fs.FileMode {
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS == "windows" || !info.Mode().IsRegular() {
		return 0
	}
	return info.Mode().Perm()
}
