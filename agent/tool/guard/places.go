package guard

import "github.com/thinkd/thinkd/agent/tool/approval"

// Place is a file or folder, with all that is below it.
//
// A Path that begins with ~/ is below the home folder. Such a path and an absolute one match by the identity of the file, whatever
// name leads to it. Any other Path is a name, or several names with slashes between them, and matches in every folder. Its parts may
// have the wildcards of path.Match. Upper and lower case are the same.
type Place struct {
	Path   string
	About  string          // what is there, for people
	Danger approval.Danger // tool.Program, tool.Secret or tool.Protected
}

// secret and program are the lists, by what is there. The config adds to them: [tools.files].
var (
	secret = map[string][]string{
		"SSH keys":                   {".ssh"},
		"cloud credentials":          {".aws", ".azure", ".config/gcloud", ".kube", ".oci", ".boto", ".s3cfg", ".config/doctl", ".config/hcloud", ".config/rclone", ".fly/config.yml", ".terraform.d/credentials.tfrc.json"},
		"encryption keys":            {".gnupg", ".config/sops", ".password-store", ".local/share/keyrings", ".config/op", ".vault-token", "~/Library/Keychains", "~/AppData/Roaming/Microsoft/Credentials", "~/AppData/Roaming/Microsoft/Protect", "~/AppData/Local/Microsoft/Credentials"},
		"passwords":                  {".netrc", "_netrc", ".authinfo", ".authinfo.gpg", ".git-credentials", ".pgpass", ".my.cnf", ".htpasswd"},
		"variables with secrets":     {".env*"},
		"registry and forge tokens":  {"~/.npmrc", ".pypirc", ".cargo/credentials*", ".gem/credentials", ".docker/config.json", ".config/gh", ".config/hub", ".config/github-copilot", "~/.m2/settings.xml", "~/.gradle/gradle.properties"},
		"tokens of coding agents":    {"~/.codex", "~/.claude", "~/.claude.json", "~/.gemini", "~/.config/opencode", "~/.local/share/opencode"},
		"a browser's profile":        {".mozilla", ".thunderbird", ".config/google-chrome*", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge*", ".config/vivaldi", ".config/opera", "snap/firefox", "snap/chromium", ".var/app/org.mozilla.firefox", "~/Library/Application Support/Google", "~/Library/Application Support/Firefox", "~/Library/Application Support/BraveSoftware", "~/Library/Application Support/Microsoft Edge", "~/Library/Safari", "~/Library/Cookies", "~/AppData/Local/Google", "~/AppData/Local/Microsoft/Edge", "~/AppData/Local/BraveSoftware", "~/AppData/Roaming/Mozilla"},
		"history of commands":        {".*_history", ".local/share/fish", ".lesshst", ".viminfo", "~/AppData/Roaming/Microsoft/Windows/PowerShell/PSReadLine"},
		"wallets":                    {".bitcoin", ".electrum", ".ethereum", ".config/solana"},
		"processes and their memory": {"/proc"},
		"the system's secrets":       {"/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/run/secrets", "/var/run/secrets", "/run/user"},
	}
	program = map[string][]string{
		"git runs programs that it names":        {".git", ".gitmodules", ".gitconfig", ".config/git", ".husky", ".githooks", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml"},
		"direnv and version managers run it":     {".envrc", ".mise.toml", "mise.toml", ".config/mise"},
		"editors run programs that it names":     {".vscode", ".idea", ".zed", ".devcontainer", ".vim", ".vimrc", ".exrc", ".nvimrc", ".nvim.lua", ".config/nvim", ".emacs", ".emacs.d", ".dir-locals.el"},
		"coding agents run programs it names":    {".mcp.json", ".cursor", ".gemini", ".claude", ".codex"},
		"build servers run it":                   {".github/workflows", ".gitlab-ci.yml", ".circleci"},
		"shells run it at their start":           {".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".tmux.conf", ".config/tmux", ".screenrc", ".config/fish", ".config/powershell", "~/Documents/PowerShell", "~/Documents/WindowsPowerShell"},
		"it runs when the user logs in":          {".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment", ".config/autostart", ".config/systemd", ".config/environment.d", ".config/plasma-workspace", "~/Library/LaunchAgents", "~/AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Startup"},
		"package managers run programs it names": {".npmrc", ".yarnrc", ".yarnrc.yml", ".cargo/config.toml", ".cargo/config", ".config/pip", ".pip"},
		"programs are found there":               {"~/bin", "~/.local/bin", "~/.cargo/bin", "~/go/bin", "~/.local/share/applications"},
		"the system runs programs it names":      {"/etc", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/boot", "/var/spool/cron", "/Library", "/System"},
	}
)
