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

// unreadableTokenWarning warns root that the owner of the warehouse cannot read the token file.
// It returns "" if there is no such problem, or if it cannot be determined.
func unreadableTokenWarning(cfg config.Config) string {
	owner := ownerOf(cfg.Warehouse.Dir)
	if os.Geteuid() != 0 || owner == nil || owner.Uid == "0" || cfg.API.TokenFile == "" {
		return ""
	}
	info, err := os.Stat(cfg.API.TokenFile)
	if err != nil || mayRead(owner, info) {
		return ""
	}
	group := owner.Gid
	if found, err := user.LookupGroupId(group); err == nil {
		group = found.Name
	}
	return fmt.Sprintf("api.token_file %q cannot be read by %s, the owner of the warehouse: chgrp %s %s && chmod 640 %[4]s",
		cfg.API.TokenFile, owner.Username, group, config.QuoteWord(cfg.API.TokenFile))
}

// mayRead reports whether a user may read a file, by its owner, group and mode.
func mayRead(u *user.User, info fs.FileInfo) bool {
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
