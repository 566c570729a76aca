#!/bin/sh
# Installs thinkd for the current user, without root:
#
#     curl -fsSL https://github.com/thinkd/thinkd/releases/latest/download/install.sh | sh
#
# It downloads the archive for this machine, compares its SHA-256 with the release's checksums.txt, and puts the program into
# ~/.local/bin. To update, run it again. To remove, delete the file.
#
# THINKD_VERSION  the version, such as 1.2.3 (default: the latest release)
# THINKD_BIN      the directory for the program (default: ~/.local/bin)
# THINKD_RELEASES where releases are (default: https://github.com/thinkd/thinkd/releases)
set -eu

main() {
	releases=${THINKD_RELEASES:-https://github.com/thinkd/thinkd/releases}
	bin=${THINKD_BIN:-${HOME:?is not set}/.local/bin}
	from=$releases/latest/download
	if [ -n "${THINKD_VERSION:-}" ]; then
		from=$releases/download/v${THINKD_VERSION#v}
	fi
	system=$(system)
	machine=$(machine)

	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	trap 'exit 130' INT TERM
	download "$from/checksums.txt" "$scratch/checksums.txt"
	# A line of checksums.txt: the checksum, two spaces, the name.
	line=$(grep "^[0-9a-f]\{64\}  thinkd_[^ ]*_${system}_${machine}\.tar\.gz\$" "$scratch/checksums.txt") ||
		fail "$from/checksums.txt names no archive for $system on $machine."
	[ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || fail "$from/checksums.txt names several archives for $system on $machine."
	want=${line%% *} archive=${line##* }
	download "$from/$archive" "$scratch/$archive"
	got=$(checksum "$scratch/$archive")
	[ "$got" = "$want" ] || fail "$archive has the SHA-256 $got. The release says $want. Nothing was installed."

	tar -xzf "$scratch/$archive" -C "$scratch" thinkd
	mkdir -p "$bin"
	# A file of the same directory replaces the old program in one step, also while that one runs.
	cp "$scratch/thinkd" "$bin/.thinkd.new.$$"
	chmod 755 "$bin/.thinkd.new.$$"
	mv -f "$bin/.thinkd.new.$$" "$bin/thinkd"
	echo "Installed $("$bin/thinkd" version) as $bin/thinkd."
	case :$PATH: in
	*:"$bin":*) ;;
	*) echo "$bin is not in PATH. Add this line to the start-up file of your shell: export PATH=\"$bin:\$PATH\"" ;;
	esac
}

system() {
	case $(uname -s) in
	Linux) echo linux ;;
	Darwin) echo darwin ;;
	*) fail "there is no archive for $(uname -s). On Windows, unpack the .zip file of the release." ;;
	esac
}

machine() {
	case $(uname -m) in
	x86_64 | amd64) echo amd64 ;;
	aarch64 | arm64) echo arm64 ;;
	*) fail "there is no archive for a $(uname -m) processor." ;;
	esac
}

# download URL FILE
download() {
	if command -v curl >/dev/null; then
		curl -fsSL --proto-redir =https --retry 3 -o "$2" "$1" || fail "cannot download $1."
	elif command -v wget >/dev/null; then
		wget -q -O "$2" "$1" || fail "cannot download $1."
	else
		fail 'curl or wget is needed.'
	fi
}

# checksum FILE prints the SHA-256.
checksum() {
	if command -v sha256sum >/dev/null; then
		sha256sum "$1" | cut -d ' ' -f 1
	elif command -v shasum >/dev/null; then
		shasum -a 256 "$1" | cut -d ' ' -f 1
	else
		fail 'sha256sum or shasum is needed.'
	fi
}

fail() {
	echo "install.sh: $1" >&2
	exit 1
}

main # the last line, so that a download that was cut off does nothing
