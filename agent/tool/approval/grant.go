package approval

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/thinkd/thinkd/session/tool"
)

// ToolGrant is the id of the approval of a whole tool in every question that has one, and ToolDenial that of the denial.
const (
	ToolGrant  = "allow_session"
	ToolDenial = "deny_session"
)

// Grants lists the grants that a person can give with the approval of a call, the narrowest first.
func Grants(t tool.Tool, in Inspection) []tool.Grant {
	var list []tool.Grant
	definition := t.Definition()
	if words := prefixOf(in.Command); words != nil {
		list = append(list, tool.Grant{ID: "prefix", Scope: tool.PrefixScope, Tool: t.Name, Definition: definition, Prefix: words,
			Text: fmt.Sprintf("Commands that begin with `%s`", strings.Join(words, " "))})
	}
	if in.Folder != "" && t.Effect == tool.Edit {
		list = append(list, tool.Grant{ID: "folder", Scope: tool.FolderScope, Tool: t.Name, Definition: definition, Folder: in.Folder,
			Text: fmt.Sprintf("Calls of %s on files in %s and below", t.Name, in.Folder)})
	}
	text := "All calls of " + t.Name
	if server := t.Server(); server != "" {
		text += fmt.Sprintf(" of the server %q", server)
	}
	return append(list, tool.Grant{ID: ToolGrant, Scope: tool.ToolScope, Tool: t.Name, Definition: definition, Text: text})
}

// Denials lists the standing denials that a person can give when denying the call, the narrowest first. They cover the same calls as
// the [Grants]. A denial is no boundary: a command that [Simple] does not accept is asked about, whatever its first words are.
func Denials(t tool.Tool, in Inspection) []tool.Grant {
	list := Grants(t, in)
	for i := range list {
		list[i].Deny = true
		if list[i].ID == ToolGrant {
			list[i].ID = ToolDenial
		}
	}
	return list
}

// Covers reports whether a grant is an answer to a call of a tool.
func Covers(g tool.Grant, t tool.Tool, in Inspection) bool {
	if g.Tool != t.Name || g.Definition != "" && g.Definition != t.Definition() {
		return false
	}
	switch g.Scope {
	case tool.ToolScope:
		return true
	case tool.PrefixScope:
		words, ok := Simple(in.Command)
		return ok && len(g.Prefix) > 0 && len(words) >= len(g.Prefix) && slices.Equal(words[:len(g.Prefix)], g.Prefix)
	case tool.FolderScope:
		if t.Effect != tool.Edit || in.Folder == "" || g.Folder == "" {
			return false
		}
		rel, err := filepath.Rel(g.Folder, in.Folder)
		return err == nil && filepath.IsLocal(rel)
	}
	return false
}

// prefixOf is the words of a grant for a command: the program and its first argument. Nil: there is no such grant.
func prefixOf(command string) []string {
	words, ok := Simple(command)
	if !ok {
		return nil
	}
	words = words[:min(len(words), 2)]
	for _, w := range words {
		if w == "" || len(w) > 64 || strings.ContainsAny(w, " \t*?[]{}|&;<>()$~'\"`\\") { // it reads as something else than it is
			return nil
		}
	}
	if len(words) > 1 && strings.HasPrefix(words[1], "-") && manyCommands()[path.Base(words[0])] {
		return nil // the command comes later, and options of these programs run others
	}
	return words
}

// Simple parses a command line and returns its words. It reports false unless the line is one simple command of literal words. Such
// a command has no operator, substitution, redirection, assignment, comment or second line, and no character that cannot be seen.
// Its program does not run what its arguments say.
func Simple(command string) (words []string, ok bool) {
	if command == "" || len(command) > 4<<10 || strings.ContainsFunc(command, func(r rune) bool { return r != ' ' && r != '\t' && (r < ' ' || Hidden(r)) }) {
		return nil, false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX), syntax.KeepComments(true)).Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil, false
	}
	s := file.Stmts[0]
	call, plain := s.Cmd.(*syntax.CallExpr)
	if !plain || s.Negated || s.Background || s.Semicolon.IsValid() || len(s.Redirs) > 0 || len(s.Comments) > 0 || len(call.Assigns) > 0 {
		return nil, false
	}
	for _, w := range call.Args {
		text, literal := literalWord(w)
		if !literal {
			return nil, false
		}
		words = append(words, text)
	}
	if len(words) == 0 || runsOthers(words) {
		return nil, false
	}
	return words, true
}

// literalWord is a word without its quotes. It reports false if a shell may change the word.
func literalWord(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, `\$*?[]{}`) { // shells differ here, or the file names decide
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return "", false
			}
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok || strings.ContainsAny(lit.Value, "\\`$") {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// manyCommands are programs whose first argument says what they do.
var manyCommands = set("git go npm pnpm yarn cargo docker podman kubectl helm gh glab aws gcloud az terraform tofu systemctl apt apt-get dnf brew pip pip3 uv poetry mvn gradle make just task hg svn jj ip tmux")

// runners run what their arguments say: interpreters, and programs that start others.
var runners = set("sh bash dash ash zsh ksh mksh fish csh tcsh busybox toybox cmd powershell pwsh " +
	"python pypy ruby irb perl raku node nodejs deno bun tsx ts-node php lua luajit tclsh wish expect r rscript julia osascript groovy scala kotlin jshell java ghc ghci runghc runhaskell elixir iex erl escript guile racket sbcl clisp emacs vi vim nvim ex ed " +
	"awk gawk mawk nawk sed gsed jq yq bc dc m4 gdb lldb " +
	"env sudo doas su runuser pkexec xargs parallel nohup nice ionice chrt taskset numactl time timeout gtimeout watch setsid stdbuf unbuffer script chroot unshare nsenter bwrap firejail flock strace ltrace perf valgrind systemd-run start-stop-daemon at batch crontab ssh rsh mosh scp rsync sftp socat nc ncat screen tmux rlwrap entr nodemon npx pnpx bunx uvx pipx dlx " +
	"eval exec command builtin source . trap alias fc coproc export declare typeset local readonly let set unset shopt enable hash function select then do else if while until for case { } ! [[")

// runs are commands of programs with many that run what their arguments say.
var runs = set("go/run go/generate go/tool npm/exec npm/x npm/run npm/run-script yarn/dlx yarn/exec yarn/run pnpm/exec pnpm/dlx pnpm/run uv/run uv/tool poetry/run cargo/run docker/run docker/exec docker/compose podman/run podman/exec kubectl/exec kubectl/run git/bisect git/rebase git/submodule git/config git/filter-branch hg/bisect")

// set is made when it is first needed.
func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := make(map[string]bool)
		for w := range strings.FieldsSeq(words) {
			m[w] = true
		}
		return m
	})
}

// runsOthers reports whether a command runs a program that its arguments name.
func runsOthers(words []string) bool {
	program := strings.TrimSuffix(strings.ToLower(path.Base(words[0])), ".exe")
	if strings.ContainsAny(words[0], "=~") {
		return true // in some shells it is an assignment, and the program comes next
	}
	if runners()[program] || runners()[strings.TrimRight(program, "0123456789.-")] {
		return true
	}
	if len(words) > 1 && runs()[program+"/"+words[1]] {
		return true
	}
	if program != "find" && program != "fd" && program != "fdfind" {
		return false
	}
	return slices.ContainsFunc(words[1:], func(w string) bool {
		return strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") || strings.HasPrefix(w, "--exec") || program != "find" && (strings.HasPrefix(w, "-x") || strings.HasPrefix(w, "-X"))
	})
}
