// Package pinned installs tools of other makers in the versions that a list pins, so that
// tests can hold this program against them: peers that do the same work, and readers of
// what it publishes.
//
// It is for tests only, and must not know what they do with the tools.
package pinned

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// ErrLacking says that the machine lacks what a tool needs: a program, or its registry.
var ErrLacking = errors.New("it cannot be installed here")

// InstallPython makes a virtual environment in a folder and installs the packages of a
// requirements file, which must name all of them. Programs are in bin below the folder.
func InstallPython(ctx context.Context, folder, requirements string) error {
	return install(ctx, place{}, []string{"python3", "-m", "venv", folder},
		[]string{filepath.Join(folder, "bin", "python"), "-m", "pip", "install", "--quiet", "--no-deps", "--requirement", requirements})
}

// InstallNode installs the packages of the package.json in a folder, in the versions of the
// package-lock.json beside it. "npm ci" would refuse a list that has not the native
// packages of every system.
func InstallNode(ctx context.Context, folder string) error {
	return install(ctx, place{folder: folder}, []string{"npm", "install", "--no-save", "--silent", "--no-audit", "--no-fund"})
}

// FindGo returns the path of a program of a Go module, such as example.com/m/cmd/p@v1.2.3:
// that in the PATH, or one that it builds into a folder, whatever module is around.
func FindGo(ctx context.Context, folder, program string) (string, error) {
	name, _, _ := strings.Cut(path.Base(program), "@")
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	at := place{env: []string{"GOBIN=" + folder, "GOFLAGS="}}
	return filepath.Join(folder, name), install(ctx, at, []string{"go", "install", program})
}

// place is where commands run: a folder, and what its environment has besides.
type place struct {
	folder string
	env    []string
}

// install runs commands. What the last line of a failed one says is in the error.
func install(ctx context.Context, at place, commands ...[]string) error {
	for _, args := range commands {
		if _, err := exec.LookPath(args[0]); err != nil {
			return fmt.Errorf("%w: %s is not on the PATH", ErrLacking, args[0])
		}
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = at.folder
		cmd.Env = append(cmd.Environ(), at.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("%w: %s: %w: %s", ErrLacking, strings.Join(args, " "), err, lines[len(lines)-1])
		}
	}
	return nil
}
