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

// addAdvice appends a remedy to system errors that any command can run into, such as a
// port in use or missing permissions. Errors that contain advice are returned unchanged.
func addAdvice(err error) error {
	netErr, isNet := errors.AsType[*net.OpError](err)
	fileErr, isFile := errors.AsType[*fs.PathError](err)
	isListen := isNet && netErr.Op == "listen"
	switch {
	case errors.As(err, new(*warehouse.FolderError)), errors.As(err, new(*durable.TempError)), errors.As(err, new(*config.Error)):
		return err
	case isListen && errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: another process already listens on this port, perhaps an instance of this program: stop it, or choose another port", err)
	case isListen && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: only root may listen on a port below 1024: choose a higher port", err)
	case isListen && errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%w: this machine does not have the address: choose an address of this machine, such as 127.0.0.1", err)
	case isFile && errors.Is(fileErr, fs.ErrPermission):
		return fmt.Errorf("%w: %s", err, permissionAdvice(fileErr.Path))
	case isFile && errors.Is(fileErr, syscall.EROFS):
		return fmt.Errorf("%w: the file system is mounted read-only: remount it, or choose another folder", err)
	}
	return err
}

// permissionAdvice names the owner of a path, or of the nearest accessible folder above it.
// If the owner is the current user or unknown, it recommends checking the permissions.
func permissionAdvice(path string) string {
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
			if uid == 0 {
				return path + " belongs to root, probably because a command ran as root: give it back to the owner of the warehouse with chown, then run the command as that user"
			}
			return fmt.Sprintf("%s belongs to %s: run the command as that user", path, name)
		}
	}
	return fmt.Sprintf("check the permissions of %s and of the folders above it", path)
}
