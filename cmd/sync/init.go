package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"placementsync"
	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/durable"
	"placementsync/internal/fetch"
	"placementsync/internal/warehouse"
)

type initOptions struct {
	baseURL, tokenFile, tokenEnv, dir string
	allowInsecure                     bool
}

// usualTokenEnv is the environment variable of the token in the example configuration.
const usualTokenEnv = "PLACEMENTSYNC_TOKEN"

func initCommand(g *globals) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a commented configuration, create the warehouse, and check both",
		Long: "Write a configuration with all keys and their comments, fill in the service and the place of\n" +
			"the token, create the folder of the warehouse, and check all this. On a terminal, init asks for\n" +
			"missing values. A typed token is not shown. It is written to a file that other users cannot\n" +
			"read, not to the configuration. init does not change an existing configuration or warehouse.\n" +
			"The unmodified example of a package is filled in.\n\n" +
			"The check may end with exit code 2 after the configuration was written, for example if the environment\n" +
			"variable of --token-env is not set.\n\n" +
			cli.Meanings{Complete: "written, and a night can start", Failed: "not written; or written, and the check failed",
				Locked: "written; a run holds the lock"}.Table(),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runInit(cmd.Context(), g, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.baseURL, "base-url", "", "`address` of the service, such as https://api.example.com")
	f.StringVar(&o.tokenFile, "token-file", "", "`file` with the token; on a terminal, init asks for the token and creates a missing file")
	f.StringVar(&o.tokenEnv, "token-env", "", "`name` of the environment variable with the token")
	f.StringVar(&o.dir, "dir", "", "`folder` of the warehouse (default warehouse, beside the configuration)")
	f.BoolVar(&o.allowInsecure, "allow-insecure", false, "accept plain http to any host: others can read the traffic")
	completeFlag(cmd, "base-url", cobra.NoFileCompletions)
	completeFlag(cmd, "token-env", cobra.NoFileCompletions)
	return cmd
}

func runInit(ctx context.Context, g *globals, o initOptions) error {
	if g.Config == "" {
		return cli.UsageErr("--config is empty: give the path of the file to write")
	}
	d := configDraft{g: g, o: o, values: map[string]string{}}
	if err := d.readExisting(); err != nil {
		return err
	}
	if err := d.chooseServiceAndFolder(ctx); err != nil {
		return err
	}
	if err := d.chooseToken(ctx); err != nil {
		return err
	}
	if err := d.write(); err != nil {
		return fmt.Errorf("%w; no configuration was written", err)
	}
	if err := g.createWarehouse(); err != nil {
		return d.explainCheckErr(ctx, err)
	}
	if err := runCheck(ctx, g, false); err != nil {
		return d.explainCheckErr(ctx, err)
	}
	_, err := fmt.Fprintf(g.stdout, "\nnext: %s\n", g.commandLine("run"))
	return err
}

type configDraft struct {
	g *globals
	o initOptions
	// text is the configuration before the values are filled in: the example, or the existing
	// file of a package. info and existing describe the existing file.
	text     []byte
	info     fs.FileInfo
	existing config.Config
	// existingToken is api.token of the existing file, without expanded variables.
	existingToken config.Secret
	// values are the values to fill in, by YAML path.
	values map[string]string
	// typedToken is written to tokenFile. It is empty if the user typed no token.
	typedToken config.Secret
	// tokenFile or tokenEnv is the source of the token. Both are empty if api.token of the existing file is used.
	tokenFile, tokenEnv string
}

// readExisting reads the existing file. If its api.base_url differs from the example, the file has been
// edited, and readExisting returns an error.
func (d *configDraft) readExisting() error {
	data, err := os.ReadFile(d.g.Config)
	if errors.Is(err, fs.ErrNotExist) {
		d.text = placementsync.ExampleConfig
		return nil
	}
	if err == nil {
		d.info, err = os.Stat(d.g.Config)
	}
	if err != nil {
		return cli.UsageErr("%w: name another file with --config", err)
	}
	if strings.HasPrefix(string(data), "\ufeff") {
		return cli.UsageErr("%s begins with a byte order mark; nothing was changed: save it as UTF-8 without this mark", d.g.Config)
	}
	example, _ := config.Parse("", placementsync.ExampleConfig, d.g.LookupEnv)
	d.text = data
	unexpanded, _ := config.Parse(d.g.Config, data, nil) // without environment variables
	d.existingToken = unexpanded.API.Token
	d.existing, _ = config.Parse(d.g.Config, data, d.g.LookupEnv)
	switch d.existing.API.BaseURL {
	case example.API.BaseURL:
		return nil
	case "":
		return cli.UsageErr("%s exists, and its api.base_url is missing or cannot be read; nothing was changed: move the file away, or name another file with --config", d.g.Config)
	default:
		return cli.UsageErr("%s exists and is already filled in; nothing was changed: check it with %s, or move it away to start again",
			d.g.Config, d.g.commandLine("check"))
	}
}

func (d *configDraft) chooseServiceAndFolder(ctx context.Context) error {
	check := func(address string) error {
		err := config.API{BaseURL: address, AllowInsecure: d.o.allowInsecure || d.existing.API.AllowInsecure}.CheckBaseURL()
		if err == nil {
			return nil
		}
		isOnlyInsecure := config.API{BaseURL: address, AllowInsecure: true}.CheckBaseURL() == nil
		if isOnlyInsecure {
			// The message ends with the advice to set api.allow_insecure, which this flag does.
			return fmt.Errorf("%w with --allow-insecure", err)
		}
		return err
	}
	address, err := d.o.baseURL, error(nil)
	switch {
	case address != "":
		err = check(address)
	case d.g.ask == nil:
		err = cli.UsageErr("init needs the service: give its address with --base-url, or run init on a terminal, where it asks")
	default:
		address, err = d.askFor(ctx, "address of the service, such as https://api.example.com: ", false, check)
	}
	if err != nil {
		return err
	}
	d.values["api.base_url"] = config.EscapeValue(address)
	if d.o.allowInsecure {
		d.values["api.allow_insecure"] = "true"
	}
	if d.o.dir != "" {
		dir, err := d.pathInConfig(d.o.dir)
		d.values["warehouse.dir"] = dir
		return err
	}
	return nil
}

func (d *configDraft) askFor(ctx context.Context, question string, isSecret bool, check func(answer string) error) (string, error) {
	for {
		answer, err := d.g.ask(ctx, question, isSecret)
		if err != nil {
			return "", err
		}
		answer = strings.TrimSpace(answer)
		if err = check(answer); err == nil {
			return answer, nil
		}
		fmt.Fprintln(d.g.stderr, err)
	}
}

func (d *configDraft) chooseToken(ctx context.Context) error {
	file, env := d.o.tokenFile, d.o.tokenEnv
	if file != "" && env != "" {
		return cli.UsageErr("--token-file and --token-env are both given: remove one of the two")
	}
	hasFlag := file != "" || env != ""
	_, err := config.API{Token: d.existingToken}.ReadToken()
	hasLiteralToken := err == nil
	if hasFlag && hasLiteralToken {
		return cli.UsageErr("%s has a token in api.token; nothing was changed: leave out --token-file and --token-env, or remove that token first", d.g.Config)
	}
	_, err = config.API{Token: d.existing.API.Token}.ReadToken()
	hasUsableToken := err == nil && d.existing.API.TokenFile == ""
	if !hasFlag && hasUsableToken {
		return nil
	}
	if !hasFlag {
		file = d.existing.API.TokenFile
	}
	if file == "" && env == "" {
		_, isSet := d.g.LookupEnv(usualTokenEnv)
		_, isFileSet := d.g.LookupEnv(usualTokenEnv + "_FILE")
		if isSet || isFileSet {
			env = usualTokenEnv
		}
	}
	if env != "" {
		if !config.IsVariableName(env) || looksLikeToken(env) {
			return cli.UsageErr("--token-env is not the name of an environment variable: write one such as %s; if a token was given there, renew it, because every user of this machine could see it", usualTokenEnv)
		}
		d.tokenEnv = env
		d.values["api.token"], d.values["api.token_file"] = "${"+env+"}", ""
		return nil
	}
	if file != "" {
		return d.useFile(ctx, file)
	}
	if d.g.ask == nil {
		return cli.UsageErr("init needs the token: name its file with --token-file or its environment variable with --token-env, or run init on a terminal, where it asks")
	}
	file = filepath.Join(filepath.Dir(d.g.Config), "token")
	if _, err := os.Lstat(file); err == nil { // the file may contain the token of another service
		return cli.UsageErr("%s exists: use its token with --token-file %[1]s, or move it away", file)
	}
	return d.useFile(ctx, file)
}

// useFile configures file as the token file, and asks for the token if the file does not exist.
func (d *configDraft) useFile(ctx context.Context, file string) error {
	if _, err := (config.API{TokenFile: file}).ReadToken(); errors.Is(err, fs.ErrNotExist) {
		if err := d.askToken(ctx, file); err != nil {
			return err
		}
	} else if err != nil {
		return cli.UsageErr("%w", err)
	}
	d.tokenFile = file
	if file == d.existing.API.TokenFile {
		return nil
	}
	path, err := d.pathInConfig(file)
	d.values["api.token"], d.values["api.token_file"] = "", path
	return err
}

// pathInConfig converts a path of the command line to a value of the configuration. A path below
// the folder of the configuration becomes relative to this folder. Any other path becomes absolute.
func (d *configDraft) pathInConfig(path string) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") {
		return "", cli.UsageErr("%q begins with ~, which only a shell expands: write the full path", path)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(filepath.Dir(d.g.Config))
	if err != nil {
		return "", err
	}
	if relative, err := filepath.Rel(dir, absolute); err == nil && filepath.IsLocal(relative) {
		return config.EscapeValue(relative), nil
	}
	return config.EscapeValue(absolute), nil
}

// looksLikeToken reports whether a value of a flag may be a token that was given by mistake.
func looksLikeToken(text string) bool { return config.TokenWarning(config.Secret(text)) == "" }

func (d *configDraft) askToken(ctx context.Context, file string) error {
	if looksLikeToken(filepath.Base(file)) {
		return cli.UsageErr("--token-file is not the name of a file, but looks like a token: write the token into a file, and give its name; renew the token that was given there, because every user of this machine could see it")
	}
	dir := filepath.Dir(file)
	_, err := os.Stat(dir)
	isMissing := errors.Is(err, fs.ErrNotExist)
	isCreated := filepath.Clean(dir) == filepath.Dir(d.g.Config) // write creates the folder of the configuration
	if isMissing && !isCreated {
		return cli.UsageErr("the folder %q for the token does not exist: create it, or name another file with --token-file", dir)
	}
	if d.g.ask == nil {
		return cli.UsageErr("%s does not exist: write the token into it so that others cannot read it, or run init on a terminal, where it asks", file)
	}
	answer, err := d.askFor(ctx, "token (not shown; it is written to a separate file): ", true, func(answer string) error {
		_, err := config.API{Token: config.Secret(answer)}.ReadToken()
		return err
	})
	d.typedToken = config.Secret(answer)
	return err
}

func (d *configDraft) write() error {
	const folderMode, ownerMode, groupMode, othersMask = 0o755, 0o600, 0o640, 0o007
	filled, err := config.Fill(d.text, d.values)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.g.Config), folderMode); err != nil {
		return err
	}
	var disk durable.Disk
	access := d.findAccess(filled, groupMode)
	if d.typedToken != "" {
		mode, readers := fs.FileMode(ownerMode), "its owner"
		// If the configuration is closed to others, its group is the group of the service, so it may read the token.
		if access != nil && access.Mode&othersMask == 0 {
			mode, readers = groupMode, "its owner and the group of the configuration"
		}
		if err := disk.CreateFile(d.tokenFile, []byte(d.typedToken.Reveal()+"\n"), mode, access); err != nil {
			return err
		}
		fmt.Fprintf(d.g.stdout, "token          %s is written, readable only by %s\n", d.tokenFile, readers)
	}
	if d.info == nil {
		err = disk.CreateFile(d.g.Config, filled, groupMode, access)
	} else {
		err = disk.RewriteFile(d.g.Config, filled)
	}
	if err != nil {
		if d.typedToken != "" {
			err = errors.Join(err, os.Remove(d.tokenFile))
		}
		return err
	}
	fmt.Fprintf(d.g.stdout, "configuration  %s is written\n", d.g.Config)
	return nil
}

// findAccess returns the access of new files. It is the access of the existing configuration. If no
// configuration exists and root runs init for a warehouse of another user, the group of that user may
// read the files. Nil means the access of the current user.
func (d *configDraft) findAccess(filled []byte, mode fs.FileMode) *durable.Access {
	if d.info != nil {
		access := durable.AccessOf(d.info)
		return &access
	}
	cfg, _ := config.Parse(d.g.Config, filled, d.g.LookupEnv)
	owner := serviceUser(cfg.Warehouse.Dir)
	if owner == nil {
		return nil
	}
	gid, err := strconv.Atoi(owner.Gid)
	if err != nil {
		return nil
	}
	return &durable.Access{UID: 0, GID: gid, Mode: mode}
}

// createWarehouse creates the folders of a missing warehouse. If root runs init for another user, the folders
// belong to that user.
func (g *globals) createWarehouse() error {
	wh, cfg, err := g.openWarehouse()
	if err != nil {
		return err
	}
	if err := wh.Folder.CheckExists(); !errors.As(err, new(*warehouse.NoWarehouseError)) {
		return err
	}
	if err := wh.Folder.Create(serviceAccess(cfg.Warehouse.Dir)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.stdout, "warehouse      %s is created\n", cfg.Warehouse.Dir)
	return err
}

func (d *configDraft) explainCheckErr(ctx context.Context, err error) error {
	advice := "correct the cause"
	status, hasStatus := errors.AsType[*fetch.StatusError](err)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w\nthe configuration %s was written; its check was interrupted: run %s", err, d.g.Config, d.g.commandLine("check"))
	case errors.Is(err, fetch.ErrAuth):
		place := cmp.Or(d.tokenEnv, "api.token")
		if d.tokenFile != "" {
			place = strconv.Quote(d.tokenFile)
		}
		advice = "put a valid token into " + place
	case errors.Is(err, fetch.ErrUnreachable), hasStatus && status.Code == http.StatusNotFound:
		advice = "correct api.base_url if it is wrong"
	}
	return fmt.Errorf("%w\nthe configuration %s was written: %s, then run %s", err, d.g.Config, advice, d.g.commandLine("check"))
}

// commandLine is like programLine. If root runs init for another user, the line runs the command as that user.
func (g *globals) commandLine(name string) string {
	line := g.programLine(name)
	cfg, _ := config.Load(g.Config, g.LookupEnv)
	if owner := serviceUser(cfg.Warehouse.Dir); owner != nil {
		line = "runuser -u " + owner.Username + " -- " + line
	}
	return line
}

func (g *globals) programLine(name string) string {
	if g.Config == cli.DefaultConfig {
		return "placementsync " + name
	}
	return "placementsync " + name + " --config " + config.QuoteWord(g.Config)
}

// serviceUser returns the owner of the warehouse or of its nearest existing parent, if root runs this
// command for another user. Otherwise it returns nil.
func serviceUser(dir string) *user.User {
	access := serviceAccess(dir)
	if access == nil {
		return nil
	}
	owner, err := user.LookupId(strconv.Itoa(access.UID))
	if err != nil {
		return nil
	}
	return owner
}

// serviceAccess is like serviceUser, and returns owner and group of the folder.
func serviceAccess(dir string) *durable.Access {
	info, err := os.Stat(dir)
	for err != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		info, err = os.Stat(dir)
	}
	if err != nil || os.Geteuid() != 0 {
		return nil
	}
	access := durable.AccessOf(info)
	if access.UID == 0 {
		return nil
	}
	return &access
}

func unreadableTokenWarning(cfg config.Config) string {
	owner := serviceUser(cfg.Warehouse.Dir)
	if owner == nil || cfg.API.TokenFile == "" {
		return ""
	}
	info, err := os.Stat(cfg.API.TokenFile)
	if err != nil || canRead(owner, info) {
		return ""
	}
	group := owner.Gid
	if found, err := user.LookupGroupId(group); err == nil {
		group = found.Name
	}
	return fmt.Sprintf("api.token_file %q cannot be read by %s, the owner of the warehouse: chgrp %s %s && chmod 640 %[4]s",
		cfg.API.TokenFile, owner.Username, group, config.QuoteWord(cfg.API.TokenFile))
}

func canRead(u *user.User, info fs.FileInfo) bool {
	const ownerReads, groupReads, othersRead = 0o400, 0o040, 0o004
	access := durable.AccessOf(info)
	groups, err := u.GroupIds()
	if err != nil {
		groups = []string{u.Gid}
	}
	switch {
	case strconv.Itoa(access.UID) == u.Uid:
		return access.Mode&ownerReads != 0
	case slices.Contains(groups, strconv.Itoa(access.GID)):
		return access.Mode&groupReads != 0
	}
	return access.Mode&othersRead != 0
}
