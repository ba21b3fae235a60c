package config

import (
	"fmt"
	"io/fs"
	"os"
)

// Permissions of users other than the owner of a file.
const (
	groupWrites fs.FileMode = 0o020
	othersRead  fs.FileMode = 0o004
	othersWrite fs.FileMode = 0o002
)

// valueFile is a file that is named by a key, such as api.token_file, or by a NAME_FILE variable.
type valueFile struct {
	key      string  // the key that problems name
	path     *string // points to "" if the key names no file
	isSecret bool
}

func (c *Config) secretFiles() []valueFile {
	files := []valueFile{
		{"api.token_file", &c.API.TokenFile, true}, {"s3.access_key_file", &c.S3.AccessKeyFile, true}, {"s3.secret_key_file", &c.S3.SecretKeyFile, true},
		{"lake.postgres_password_file", &c.Lake.PostgresPasswordFile, true},
		{"lake.rest.token_file", &c.Lake.REST.TokenFile, true}, {"lake.rest.credential_file", &c.Lake.REST.CredentialFile, true},
	}
	for i := range c.Notify.Channels {
		files = append(files, valueFile{fmt.Sprintf("notify.channels[%d].smtp.password_file", i), &c.Notify.Channels[i].SMTP.PasswordFile, true})
	}
	return files
}

// checkFile rejects a configuration file that every user can write, because a changed
// base_url would send the token elsewhere. It warns about secrets that every user can read.
func (b *binder) checkFile(file string, c *Config) {
	switch mode := permissions(file); {
	case mode&othersWrite != 0:
		b.addProblem("", "can be written by every user of this machine, who could send the token elsewhere: run chmod o-w on it")
	case mode&othersRead != 0 && len(b.secrets) > 0:
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s can be read by every user of this machine, and contains %s: run chmod o-rwx on it, or write ${NAME} for the value", file, b.secrets[0]))
	}
}

// checkSecretFiles checks the modes of the secret files and of the files of NAME_FILE variables.
// A file without a secret must not be writable by others either, because a changed address would
// send the token elsewhere. The group is allowed to read secrets, because the daemon can run as a
// user of that group.
func (b *binder) checkSecretFiles(c *Config) {
	for _, f := range append(b.files, c.secretFiles()...) {
		switch mode := permissions(*f.path); {
		case mode&othersWrite != 0:
			b.addProblem(f.key, "%q can be written by every user of this machine: run chmod g-w,o-rwx on it, and replace its content", *f.path)
		case f.isSecret && mode&(othersRead|groupWrites) != 0:
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s %q can be read by every user of this machine or written by the group of the file: run chmod g-w,o-rwx on it", f.key, *f.path))
		}
	}
}

// permissions returns 0 for a file that is missing or not regular. A missing file is reported when it is
// read.
func permissions(file string) fs.FileMode {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Mode().Perm()
}
