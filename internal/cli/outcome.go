package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"placementsync/internal/config"
	"placementsync/internal/durable"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// Meanings explains the outcomes of a command. An empty field means that the command never has
// this outcome. Misused and Interrupted have one meaning for all commands.
type Meanings struct {
	Complete, Failed, Partial, Locked string
}

// Table returns the exit codes for a help text.
func (m Meanings) Table() string {
	text := "Exit codes:"
	for _, row := range []struct {
		outcome ledger.Outcome
		meaning string
	}{
		{ledger.Complete, m.Complete},
		{ledger.Failed, m.Failed},
		{ledger.Misused, "wrong usage or configuration, or an unknown name"},
		{ledger.Partial, m.Partial},
		{ledger.Locked, m.Locked},
		{ledger.Interrupted, "interrupted"},
	} {
		if row.meaning != "" {
			text += fmt.Sprintf("\n  %-4d %s", row.outcome.ExitCode(), row.meaning)
		}
	}
	return text
}

// UsageErr returns an error about wrong usage that cobra does not detect.
func UsageErr(format string, args ...any) error {
	return &outcomeError{ledger.Misused, fmt.Errorf(format, args...)}
}

type outcomeError struct {
	outcome ledger.Outcome
	err     error
}

func (e *outcomeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *outcomeError) Unwrap() error { return e.err }

// EndWith returns an error that ends the program with the given outcome. If err is nil, no
// error is printed.
func EndWith(outcome ledger.Outcome, err error) error { return &outcomeError{outcome, err} }

// isInvalidTemp reports whether err means that TMPDIR is not a writable folder. It returns false
// for a full disk, which is not wrong usage.
func isInvalidTemp(err error) bool {
	temp, ok := errors.AsType[*durable.TempError](err)
	return ok && slices.ContainsFunc([]error{fs.ErrNotExist, fs.ErrPermission, syscall.ENOTDIR, syscall.EROFS},
		func(cause error) bool { return errors.Is(temp, cause) })
}

// OutcomeOf returns the outcome of a command whose work ends with err.
func OutcomeOf(ctx context.Context, err error) ledger.Outcome {
	var explicit *outcomeError
	switch {
	case err == nil:
		return ledger.Complete
	case errors.As(err, &explicit):
		return explicit.outcome
	case errors.As(err, new(*config.Error)), errors.As(err, new(*query.UsageError)), errors.As(err, new(*schema.UnknownTableError)),
		errors.As(err, new(*ledger.UnknownRunError)), errors.As(err, new(*warehouse.NoWarehouseError)), isInvalidTemp(err):
		return ledger.Misused
	case errors.As(err, new(*warehouse.LockedError)):
		return ledger.Locked
	case ctx.Err() != nil:
		return ledger.Interrupted
	}
	return ledger.Failed
}

// addAdvice appends a remedy to system errors that any command can run into, such as a
// port in use or missing permissions. Errors that contain advice are returned unchanged.
func addAdvice(err error) error {
	netErr, isNet := errors.AsType[*net.OpError](err)
	fileErr, isFile := errors.AsType[*fs.PathError](err)
	isListen := isNet && netErr.Op == "listen"
	switch {
	case errors.As(err, new(*warehouse.FolderError)), errors.As(err, new(*warehouse.DiskFullError)), errors.As(err, new(*durable.TempError)), errors.As(err, new(*config.Error)):
		return err
	case durable.IsFull(err):
		return fmt.Errorf("%w: the disk is full or the quota is used up: free some space", err)
	case isListen && errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: another process already listens on this port, perhaps an instance of this program: stop it, or choose another port", err)
	case isListen && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: only root may listen on a port below 1024: choose a higher port", err)
	case isListen && errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%w: this machine does not have the address: choose an address of this machine, such as 127.0.0.1", err)
	case isFile && errors.Is(fileErr, fs.ErrPermission):
		return fmt.Errorf("%w: %s", err, permissionAdvice(fileErr.Path, os.Geteuid()))
	case isFile && errors.Is(fileErr, syscall.ENOTDIR):
		return fmt.Errorf("%w: a part of this path is a file, not a folder: correct the path on the command line or in the configuration", err)
	case isFile && errors.Is(fileErr, syscall.EROFS):
		return fmt.Errorf("%w: the file system is mounted read-only: remount it, or choose another folder", err)
	}
	return err
}

// permissionAdvice names the owner of a path, or of the nearest accessible folder above it. The path may be
// outside of the warehouse. processUID is the user of this process.
func permissionAdvice(path string, processUID int) string {
	info, err := os.Lstat(path)
	for err != nil && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		info, err = os.Lstat(path)
	}
	if err != nil || durable.AccessOf(info).UID == processUID {
		return fmt.Sprintf("check the permissions of %s and of the folders above it", path)
	}
	uid := strconv.Itoa(durable.AccessOf(info).UID)
	if uid == "0" {
		return path + " belongs to root: choose another path, or run the command as a user who may access it; if a command that ran as root created it in the warehouse, give it back to the owner of the warehouse with chown"
	}
	name := "the user " + uid
	if owner, err := user.LookupId(uid); err == nil {
		name = owner.Username
	}
	return fmt.Sprintf("%s belongs to %s: run the command as that user", path, name)
}
