package command

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"placementsync/internal/config"
	"placementsync/internal/durable"
	"placementsync/internal/warehouse"
)

// advise adds what to do to an error of the system that any command may meet: an address
// that is in use, or missing rights. Errors that give advice themselves stay as they are.
func advise(err error) error {
	listening, isNet := errors.AsType[*net.OpError](err)
	file, isFile := errors.AsType[*fs.PathError](err)
	switch {
	case errors.As(err, new(*warehouse.PlaceError)), errors.As(err, new(*durable.TempError)), errors.As(err, new(*config.Error)):
		return err
	case isNet && listening.Op == "listen" && errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: another program listens there, which may be this one started before: stop it, or choose another port", err)
	case isNet && listening.Op == "listen" && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: only root may listen on a port below 1024: choose a higher one", err)
	case isNet && listening.Op == "listen" && errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%w: this machine does not have the address: choose one of its own, such as 127.0.0.1", err)
	case isFile && errors.Is(file, fs.ErrPermission):
		return fmt.Errorf("%w: %s", err, adviseRights(file.Path))
	case isFile && errors.Is(file, syscall.EROFS):
		return fmt.Errorf("%w: its file system is mounted read only", err)
	}
	return err
}

// adviseRights names the owner of a path, or of the nearest folder above it that may be
// looked at.
func adviseRights(path string) string {
	info, err := os.Lstat(path)
	for err != nil && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		info, err = os.Lstat(path)
	}
	if err == nil {
		if uid, _, known := durable.Owner(info); known && uid != os.Geteuid() {
			name := "the user " + strconv.Itoa(uid)
			if owner, err := user.LookupId(strconv.Itoa(uid)); err == nil {
				name = owner.Username
			}
			return fmt.Sprintf("%s belongs to %s: run the command as that user", path, name)
		}
	}
	return fmt.Sprintf("look at the rights of %s and of the folders above it", path)
}
