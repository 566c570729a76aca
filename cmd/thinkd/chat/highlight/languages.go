package highlight

import (
	"slices"
	"strings"
)

// Kind is what a token is.
type Kind int

// The kinds of tokens.
const (
	Plain Kind = iota
	Comment
	String
	Keyword
	Number
	Added   // a line that a diff adds
	Removed // a line that a diff removes
	Hunk    // a line of a diff that says where the next ones are
)

// A language is its lexical rules.
type language struct {
	delimiters []delimiter // the first that fits counts
	keywords   []string    // sorted
	letters    string      // what belongs to a word in addition to letters, digits and the underscore
	anyCase    bool        // keywords have no case
	diff       bool
}

// A delimiter begins a comment or a string.
type delimiter struct {
	start, end string // an empty end is that of the line
	kind       Kind
	escape     bool // a backslash takes the next character in
	lines      bool // it may go on in the next line
	apart      bool // it begins only at the start of a line or behind a blank
}

func comment(start string) delimiter { return delimiter{start: start, kind: Comment} }
func block(start, end string) delimiter {
	return delimiter{start: start, end: end, kind: Comment, lines: true}
}
func quoted(q string) delimiter   { return delimiter{start: q, end: q, kind: String, escape: true} }
func verbatim(q string) delimiter { return delimiter{start: q, end: q, kind: String, lines: true} }
func text(q string) delimiter {
	return delimiter{start: q, end: q, kind: String, escape: true, lines: true}
}
func literal(q string) delimiter { return delimiter{start: q, end: q, kind: String} }
func words(list string) (sorted []string) {
	sorted = strings.Fields(list)
	slices.Sort(sorted)
	return sorted
}
func rules(list ...delimiter) []delimiter { return list }
func cLike(more ...delimiter) []delimiter {
	return append(rules(comment("//"), block("/*", "*/"), quoted(`"`)), more...)
}
func hashed(more ...delimiter) []delimiter {
	return append(more, delimiter{start: "#", kind: Comment, apart: true})
}

const cWords = "break case char const continue default do double else enum extern float for goto if inline int long register return short " +
	"signed sizeof static struct switch typedef union unsigned void volatile while bool true false NULL "

// lookup returns the language of a name in lower case; nil: it is unknown. It builds the rules on each call: a process that shows no code
// has no use for them.
func lookup(name string) *language {
	switch name {
	case "go", "golang":
		return &language{delimiters: cLike(quoted("'"), verbatim("`")), keywords: words("break case chan const continue default defer else fallthrough for " +
			"func go goto if import interface map package range return select struct switch type var nil true false iota")}
	case "c", "h":
		return &language{delimiters: cLike(quoted("'")), keywords: words(cWords)}
	case "cpp", "c++", "cc", "hpp", "cxx":
		return &language{delimiters: cLike(quoted("'")), keywords: words(cWords + "auto catch class concept consteval constexpr co_await co_return co_yield decltype delete " +
			"explicit export final friend mutable namespace new noexcept nullptr operator override private protected public requires static_assert template this " +
			"throw try typename using virtual")}
	case "java", "kotlin", "kt", "scala", "groovy":
		return &language{delimiters: cLike(quoted("'")), keywords: words("abstract as assert boolean break byte case catch char class companion const continue data def " +
			"default do double else enum extends false final finally float for fun if implements import in instanceof int interface internal is lateinit long match " +
			"native new null object open override package private protected public record return sealed short static super suspend switch this throw throws trait " +
			"true try type val var void volatile when while with yield")}
	case "cs", "csharp", "c#":
		return &language{delimiters: cLike(quoted("'")), keywords: words("abstract as async await base bool break byte case catch char class const continue decimal default " +
			"delegate do double else enum event false finally fixed float for foreach get if in int interface internal is lock long namespace new null object out " +
			"override params private protected public readonly record ref return sealed set short static string struct switch this throw true try typeof uint ulong " +
			"unsafe using var virtual void volatile when where while yield")}
	case "js", "javascript", "jsx", "mjs", "ts", "typescript", "tsx":
		return &language{delimiters: cLike(quoted("'"), text("`")), letters: "$", keywords: words("abstract any as async await boolean break case catch class const continue " +
			"debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface is " +
			"keyof let namespace never new null number of override private protected public readonly return satisfies set static string super switch symbol this " +
			"throw true try type typeof undefined unknown var void while with yield")}
	case "rust", "rs":
		return &language{delimiters: cLike(), keywords: words("as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut " +
			"pub ref return self Self static struct super trait true type unsafe use where while bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize")}
	case "swift":
		return &language{delimiters: append(rules(text(`"""`)), cLike()...), keywords: words("actor any as async await break case catch class continue default defer do else enum " +
			"extension fallthrough false fileprivate for func guard if import in init inout internal is lazy let mutating nil open override private protocol public " +
			"repeat rethrows return self Self some static struct subscript super switch throw throws true try typealias var weak where while")}
	case "php":
		return &language{delimiters: cLike(quoted("'"), comment("#")), letters: "$", anyCase: true, keywords: words("abstract and array as break case catch class clone const continue " +
			"declare default do echo else elseif enum extends false final finally fn for foreach function global if implements include instanceof interface match " +
			"namespace new null or private protected public readonly require require_once return static switch throw trait true try use var while xor yield")}
	case "dart", "zig":
		return &language{delimiters: cLike(quoted("'")), keywords: words("abstract as async await bool break case catch class comptime const continue default defer do dynamic else " +
			"enum errdefer error export extends extern factory false final finally fn for get if implements import in int is late library mixin new null orelse pub " +
			"required return set static struct super switch this throw true try typedef union unreachable usingnamespace var void while with yield")}
	}
	return scripting(name)
}

// scripting has the languages whose comments begin with other signs, and the formats of data.
func scripting(name string) *language {
	switch name {
	case "python", "py", "python3":
		return &language{delimiters: rules(text(`"""`), text("'''"), quoted(`"`), quoted("'"), comment("#")), keywords: words("and as assert async await break case class continue " +
			"def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield")}
	case "ruby", "rb":
		return &language{delimiters: rules(block("=begin", "=end"), quoted(`"`), quoted("'"), comment("#")), letters: "?!@", keywords: words("alias and begin break case class def " +
			"do else elsif end ensure extend false for if in include module next nil not or private protected public raise redo require rescue retry return self super " +
			"then true undef unless until when while yield")}
	case "sh", "bash", "zsh", "shell", "console", "fish":
		return &language{delimiters: hashed(text(`"`), verbatim("'")), keywords: words("alias break case continue do done elif else end esac eval exec exit export fi for function " +
			"if in local readonly return set shift source then trap unset until while")}
	case "powershell", "ps1", "pwsh":
		return &language{delimiters: rules(block("<#", "#>"), literal(`"`), literal("'"), comment("#")), letters: "$-", anyCase: true, keywords: words("begin break catch class continue " +
			"data do dynamicparam else elseif end exit filter finally for foreach from function if in param process return switch throw trap try until using var while")}
	case "sql", "postgresql", "mysql", "sqlite":
		return &language{delimiters: rules(comment("--"), block("/*", "*/"), verbatim("'"), literal(`"`)), anyCase: true, keywords: words("add all alter and any as asc begin between by " +
			"case cast check column commit constraint create cross cube default delete desc distinct drop else end exists false fetch first following for foreign from full " +
			"function grant group having if in index inner insert intersect into is join key last left like limit not null offset on or order outer over partition " +
			"preceding primary references returning revoke right rollback row rows select set table then true truncate union unique update using values view when where " +
			"window with")}
	case "lua":
		return &language{delimiters: rules(block("--[[", "]]"), comment("--"), quoted(`"`), quoted("'")), keywords: words("and break do else elseif end false for function goto if in local " +
			"nil not or repeat return then true until while")}
	case "haskell", "hs", "elm":
		return &language{delimiters: rules(block("{-", "-}"), comment("--"), quoted(`"`)), letters: "'", keywords: words("as case class data deriving do else forall foreign hiding if import in " +
			"infix infixl infixr instance let module newtype of qualified then type where")}
	case "elixir", "ex", "exs":
		return &language{delimiters: rules(text(`"""`), quoted(`"`), quoted("'"), comment("#")), letters: "?!@", keywords: words("after and case catch cond def defmodule defp defstruct do " +
			"else end false fn for if import in nil not or quote raise receive require rescue true try unless unquote use when with")}
	case "r", "perl", "pl", "nix", "tcl":
		return &language{delimiters: rules(quoted(`"`), quoted("'"), comment("#")), letters: "$@", keywords: words("break else FALSE for foreach function if in inherit let local my next NULL our " +
			"package proc rec repeat require return set sub then TRUE unless use while with")}
	case "json", "jsonc", "json5", "jsonl":
		return &language{delimiters: cLike(), keywords: words("true false null")}
	case "yaml", "yml", "toml", "ini", "conf", "dotenv", "env", "properties":
		return &language{delimiters: hashed(text(`"""`), quoted(`"`), literal("'")), letters: "-", keywords: words("true false null yes no on off")}
	case "dockerfile", "docker", "makefile", "make", "cmake":
		return &language{delimiters: hashed(quoted(`"`), literal("'")), keywords: words("ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN SHELL STOPSIGNAL USER VOLUME " +
			"WORKDIR define else endef endif export if ifdef ifeq ifndef ifneq include")}
	case "hcl", "terraform", "tf", "proto", "protobuf", "graphql", "gql":
		return &language{delimiters: append(cLike(), delimiter{start: "#", kind: Comment}), keywords: words("bool data enum enumerated extend false fragment implements import input int32 int64 " +
			"interface locals map message module mutation null oneof optional option output package provider query repeated reserved resource returns rpc scalar schema " +
			"service string subscription syntax terraform true type union variable")}
	case "css", "scss", "less":
		return &language{delimiters: rules(block("/*", "*/"), quoted(`"`), quoted("'")), letters: "-@", keywords: words("@charset @font-face @import @include @keyframes @layer @media @mixin " +
			"@page @supports @use auto inherit initial none unset")}
	case "html", "xml", "svg", "vue":
		return &language{delimiters: rules(block("<!--", "-->"), literal(`"`), literal("'"))}
	case "diff", "patch":
		return &language{diff: true}
	}
	return nil
}
