package main

import (
	"io"
	"os"
	"time"

	"placementsync/internal/command"
	"placementsync/internal/config"
)

// process is the environment of a command. Tests replace it.
type process struct {
	stdout, stderr io.Writer
	command.Host
}

func hostProcess() process {
	return process{stdout: os.Stdout, stderr: os.Stderr, Host: command.Host{LookupEnv: os.LookupEnv, Now: time.Now}}
}

// globals are the environment, the flags and the configuration of every command.
type globals struct {
	process
	command.Flags
	// cfg is the configuration after loadConfig.
	cfg config.Config
}
