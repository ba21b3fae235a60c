// Package pinned installs tools of other projects in pinned versions. The caller names the tools and
// their versions. Only tests import the package.
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

// ErrNotInstallable means that a tool could not be installed, for example because the machine lacks a
// required program or access to the package registry.
var ErrNotInstallable = errors.New("it cannot be installed here")

// InstallPythonPackages creates a virtual environment in a folder and installs the packages of a requirements file,
// which must also list all dependencies. The programs are then in the subfolder bin.
func InstallPythonPackages(ctx context.Context, folder, requirements string) error {
	return install(ctx, "", nil, []string{"python3", "-m", "venv", folder},
		[]string{filepath.Join(folder, "bin", "python"), "-m", "pip", "install", "--quiet", "--no-deps", "--requirement", requirements})
}

// InstallNodePackages installs the packages of package.json in a folder, in the versions of package-lock.json. It
// does not use "npm ci", which rejects a lock file that lacks the native packages of a system.
func InstallNodePackages(ctx context.Context, folder string) error {
	return install(ctx, folder, nil, []string{"npm", "install", "--no-save", "--silent", "--no-audit", "--no-fund"})
}

// FindGoProgram returns the file of a Go program. The import path contains the version, as in
// example.com/m/cmd/p@v1.2.3. If the PATH has a program of this name, p, it is used in any version.
// Otherwise FindGoProgram builds the program in the folder. The current module has no effect on the build.
func FindGoProgram(ctx context.Context, folder, importPath string) (string, error) {
	name, _, _ := strings.Cut(path.Base(importPath), "@")
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	env := []string{"GOBIN=" + folder, "GOFLAGS="}
	return filepath.Join(folder, name), install(ctx, "", env, []string{"go", "install", importPath})
}

// install runs commands in a folder, with additional environment variables. An empty folder means the current
// folder. The error of a failed command contains the last line of its output.
func install(ctx context.Context, folder string, env []string, commands ...[]string) error {
	for _, args := range commands {
		if _, err := exec.LookPath(args[0]); err != nil {
			return fmt.Errorf("%w: %s is not on the PATH", ErrNotInstallable, args[0])
		}
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = folder
		cmd.Env = append(cmd.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("%w: %s: %w: %s", ErrNotInstallable, strings.Join(args, " "), err, lines[len(lines)-1])
		}
	}
	return nil
}
