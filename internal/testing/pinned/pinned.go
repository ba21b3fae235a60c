// Package pinned installs third-party tools in pinned versions for tests: programs that do
// the same work, and readers of the published data.
//
// It is for tests only, and must not know how tests use the tools.
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

// ErrLacking means that the machine lacks a requirement of a tool: a program, or access to
// its registry.
var ErrLacking = errors.New("it cannot be installed here")

// InstallPython creates a virtual environment in a folder and installs the packages of a
// requirements file, which must list all of them. Programs are in the folder's bin.
func InstallPython(ctx context.Context, folder, requirements string) error {
	return install(ctx, place{}, []string{"python3", "-m", "venv", folder},
		[]string{filepath.Join(folder, "bin", "python"), "-m", "pip", "install", "--quiet", "--no-deps", "--requirement", requirements})
}

// InstallNode installs the packages of the package.json in a folder, in the versions of its
// package-lock.json. "npm ci" would reject a lock file without the native packages of every
// system.
func InstallNode(ctx context.Context, folder string) error {
	return install(ctx, place{folder: folder}, []string{"npm", "install", "--no-save", "--silent", "--no-audit", "--no-fund"})
}

// FindGo returns the path of a program of a Go module, such as example.com/m/cmd/p@v1.2.3:
// the program in the PATH, or a build in the folder, independent of the current
// module.
func FindGo(ctx context.Context, folder, program string) (string, error) {
	name, _, _ := strings.Cut(path.Base(program), "@")
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	at := place{env: []string{"GOBIN=" + folder, "GOFLAGS="}}
	return filepath.Join(folder, name), install(ctx, at, []string{"go", "install", program})
}

// place is the folder of commands, and additions to their environment.
type place struct {
	folder string
	env    []string
}

// install runs commands. The error of a failed command contains the last line of its output.
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
