package pinned_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/testing/pinned"
)

// TestErrorsNameTheMissingTool installs a package that does not exist, and then installs packages with
// a PATH without programs.
func TestErrorsNameTheMissingTool(t *testing.T) {
	folder, requirements := filepath.Join(t.TempDir(), "environment"), filepath.Join(t.TempDir(), "requirements.txt")
	if err := os.WriteFile(requirements, []byte("./there-is-no-such-package\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := pinned.InstallPythonPackages(t.Context(), folder, requirements)
	if !errors.Is(err, pinned.ErrNotInstallable) || !strings.Contains(err.Error(), "python3") && !strings.Contains(err.Error(), "there-is-no-such-package") {
		t.Errorf("installing a package that does not exist: got %v, want ErrNotInstallable with the name of the package or python3", err)
	}
	t.Setenv("PATH", t.TempDir())
	_, goErr := pinned.FindGoProgram(t.Context(), t.TempDir(), "example.com/m/cmd/p@v1.2.3")
	for program, err := range map[string]error{"go": goErr, "python3": pinned.InstallPythonPackages(t.Context(), folder, requirements), "npm": pinned.InstallNodePackages(t.Context(), folder)} {
		if !errors.Is(err, pinned.ErrNotInstallable) || !strings.Contains(err.Error(), program+" is not on the PATH") {
			t.Errorf("without %s: got %v, want ErrNotInstallable with the name of the program", program, err)
		}
	}
}

// TestProgramInPathIsNotBuilt looks for a program that is in the PATH. The last element of its
// import path is the name of the program.
func TestProgramInPathIsNotBuilt(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "p")
	if err := os.WriteFile(program, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if found, err := pinned.FindGoProgram(t.Context(), t.TempDir(), "example.com/m/cmd/p@v1.2.3"); err != nil || found != program {
		t.Errorf("FindGoProgram returned %q, %v, want %q", found, err, program)
	}
}
