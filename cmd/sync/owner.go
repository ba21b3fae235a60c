package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"placementsync/internal/config"
	"placementsync/internal/durable"
)

// ownerOf returns the owner of a folder, or of its nearest existing parent. It returns nil
// if the owner is unknown.
func ownerOf(dir string) *user.User {
	info, err := os.Stat(dir)
	for err != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		info, err = os.Stat(dir)
	}
	if err != nil {
		return nil
	}
	uid, _, known := durable.Owner(info)
	if !known {
		return nil
	}
	owner, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return nil
	}
	return owner
}

// unreadableTokenWarning returns a warning for root if the owner of the warehouse cannot read the
// token file. It returns "" for other users, and if the owner or the token file is unknown.
func unreadableTokenWarning(cfg config.Config) string {
	owner := ownerOf(cfg.Warehouse.Dir)
	if os.Geteuid() != 0 || owner == nil || owner.Uid == "0" || cfg.API.TokenFile == "" {
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

// canRead reports whether the owner, group and mode of a file allow a user to read it. If the owner of
// the file is unknown, it returns true.
func canRead(u *user.User, info fs.FileInfo) bool {
	const ownerReads, groupReads, othersRead = 0o400, 0o040, 0o004
	uid, gid, known := durable.Owner(info)
	groups, err := u.GroupIds()
	if err != nil {
		groups = []string{u.Gid}
	}
	mode := info.Mode()
	switch {
	case !known:
		return true
	case strconv.Itoa(uid) == u.Uid:
		return mode&ownerReads != 0
	case slices.Contains(groups, strconv.Itoa(gid)):
		return mode&groupReads != 0
	}
	return mode&othersRead != 0
}
