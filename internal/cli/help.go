package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// AddGroup adds commands to a program, which its help lists below a title. The help lists only the names of the
// commands that are in no group.
func AddGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
	for _, cmd := range commands {
		cmd.GroupID = title
	}
	root.AddCommand(commands...)
	root.SetUsageTemplate(listNames(root.UsageTemplate()))
}

// listNames changes the list of the commands without a group in the usage template of cobra.
func listNames(template string) string {
	const descriptions = "Additional Commands:{{range $cmds}}{{if (and (eq .GroupID \"\") (or .IsAvailableCommand (eq .Name \"help\")))}}\n  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}"
	const names = "More:\n {{range $cmds}}{{if (and (eq .GroupID \"\") .IsAvailableCommand)}} {{.Name}}{{end}}{{end}}"
	return strings.Replace(template, descriptions, names, 1)
}
