package config

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/oidc"
	"github.com/thinkd/thinkd/session"
)

// Auth says who may use the daemon in addition to the person who runs it.
type Auth struct {
	Users      bool           // there are users: the file has [auth]
	MCPServers []string       // names of the servers of tools that the sessions of users have
	MCPPrivate []netip.Prefix // networks that are not public, in which these servers may be

	Socket      string                // that the users of the machine open, absolute; empty: there is none
	SocketUsers map[int]session.Owner // by the number of their account

	OIDC       *oidc.Config // whose tokens let users in; nil: nobody's
	OIDCSecret ClientSecret // of the client that is registered at the OpenID provider

	KeyFile    string   // with the master keys that encrypt the stored keys of providers, absolute; empty: see KeyCommand
	KeyCommand []string // that prints them; nil: the stored keys are not encrypted, unless there is a KeyFile

	Quota  Quota                   // of each user
	Quotas map[session.Owner]Quota // of some users, in its place
}

// ClientSecret says where the secret of a client at an OpenID provider is; the zero one: the client is public. Only a daemon that signs people
// in reads it.
type ClientSecret struct {
	File    string   // absolute
	Command []string // that prints it
	Env     string   // the variable that has it; its value is in the member Secret of the OIDC config
}

// Quota is what a user may use.
type Quota struct {
	gate.Quota
	Requests int // in a minute; 0: any number
	Stored   int // bytes of sessions; 0: any number
}

// QuotaOf is the quota of a user.
func (a Auth) QuotaOf(o session.Owner) Quota {
	if q, ok := a.Quotas[o]; ok {
		return q
	}
	return a.Quota
}

// Encrypts reports whether the stored keys of providers are encrypted.
func (a Auth) Encrypts() bool { return a.KeyFile != "" || a.KeyCommand != nil }

// secretFiles are the files that have a key or a secret.
func (a Auth) secretFiles() (list []string) {
	for _, path := range []string{a.KeyFile, a.OIDCSecret.File} {
		if path != "" {
			list = append(list, path)
		}
	}
	return list
}

// auth checks [auth].
func (src *source) auth(f *fileAuth, servers []toolhost.Server, getenv func(string) string) (Auth, error) {
	if f == nil {
		return Auth{}, nil
	}
	private, err := src.userServers(f, servers)
	if err != nil {
		return Auth{}, err
	}
	a := Auth{Users: true, MCPServers: f.MCPServers, MCPPrivate: private, Socket: src.beside(f.Socket), KeyFile: src.beside(f.KeyFile), KeyCommand: f.KeyCommand}
	switch {
	case f.Socket == "" && len(f.SocketUsers) > 0:
		return Auth{}, src.errorf("auth.socket_users", "has no effect without socket")
	case f.Socket != "" && len(f.SocketUsers) == 0:
		return Auth{}, src.errorf("auth.socket", "lets nobody in without socket_users, which names the user of each account")
	}
	switch {
	case f.KeyFile != "" && f.KeyCommand != nil:
		return Auth{}, src.errorf("auth.key_command", "there is a key_file too: the key comes from one of them")
	case noProgram(f.KeyCommand):
		return Auth{}, src.errorf("auth.key_command", "must be a list of a program and its arguments")
	}
	if a.OIDC, err = src.oidc(f.OIDC); err != nil {
		return Auth{}, err
	}
	if a.OIDC != nil {
		if a.OIDCSecret, err = src.clientSecret(*f.OIDC); err != nil {
			return Auth{}, err
		}
		a.OIDC.Secret = provider.NewSecret(variable(getenv, a.OIDCSecret.Env))
	}
	if a.Quota, err = src.quota("auth.quota", f.Quota, Quota{}); err != nil {
		return Auth{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(f.Quotas)) {
		owner := session.Owner{User: name}
		if tenant, user, found := strings.Cut(name, "/"); found {
			owner = session.Owner{Tenant: tenant, User: user}
		}
		key := "auth.quotas." + name
		if err := auth.CheckOwner(owner); err != nil {
			return Auth{}, src.errorf(key, "%w", err)
		}
		if a.Quotas == nil {
			a.Quotas = make(map[session.Owner]Quota)
		}
		if a.Quotas[owner], err = src.quota(key, f.Quotas[name], a.Quota); err != nil {
			return Auth{}, err
		}
	}
	for _, account := range slices.Sorted(maps.Keys(f.SocketUsers)) {
		uid, err := accountNumber(account)
		owner := session.Owner{User: f.SocketUsers[account]}
		if err == nil {
			err = auth.CheckOwner(owner)
		}
		if other, twice := a.SocketUsers[uid]; err == nil && twice && other != owner {
			err = fmt.Errorf("the account %d is there twice, with two users", uid)
		}
		if err != nil {
			return Auth{}, src.errorf("auth.socket_users."+account, "%w", err)
		}
		if a.SocketUsers == nil {
			a.SocketUsers = make(map[int]session.Owner)
		}
		a.SocketUsers[uid] = owner
	}
	return a, nil
}

// userServers checks which servers of tools users have, and returns the networks of auth.mcp_private_addresses. A server that runs a program on
// this machine is not for users, who do not own the machine.
func (src *source) userServers(f *fileAuth, servers []toolhost.Server) (private []netip.Prefix, err error) {
	for _, name := range f.MCPServers {
		i := slices.IndexFunc(servers, func(s toolhost.Server) bool { return s.Name == name })
		switch {
		case i < 0:
			return nil, src.errorf("auth.mcp_servers", "%q is not one of mcp_servers", name)
		case servers[i].URL == "":
			return nil, src.errorf("auth.mcp_servers", "%q runs a program on this machine; only servers with a url can be for users", name)
		}
	}
	const key = "auth.mcp_private_addresses"
	if len(f.MCPPrivate) > 0 && len(f.MCPServers) == 0 {
		return nil, src.errorf(key, "has no effect without mcp_servers")
	}
	for _, text := range f.MCPPrivate {
		network, err := netip.ParsePrefix(text)
		if addr, notOne := netip.ParseAddr(text); notOne == nil && addr.Zone() == "" {
			addr = addr.Unmap()
			network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil || network.Addr().Is4In6() {
			return nil, src.errorf(key, "%q is neither an address such as 10.0.8.5 nor a network such as 10.0.8.0/24", text)
		}
		private = append(private, network.Masked())
	}
	return private, nil
}

// oidc checks [auth.oidc]. An issuer without encryption could be anybody, except on this machine.
func (src *source) oidc(f *fileOIDC) (*oidc.Config, error) {
	if f == nil {
		return nil, nil
	}
	issuer, err := url.Parse(f.Issuer)
	switch {
	case f.Issuer == "":
		return nil, src.errorf("auth.oidc", "issuer is missing: the address of the OpenID provider, as the claim iss has it")
	case f.Audience == "":
		return nil, src.errorf("auth.oidc", "audience is missing: the id of the client that is registered at the OpenID provider for thinkd")
	case err != nil || issuer.Host == "" || issuer.RawQuery != "" || issuer.Fragment != "" || issuer.User != nil || issuer.Scheme != "https" && issuer.Scheme != "http":
		return nil, src.errorf("auth.oidc.issuer", "%q is not an address such as https://login.example.com", f.Issuer)
	case issuer.Scheme == "http" && !loopback(issuer.Hostname()):
		return nil, src.errorf("auth.oidc.issuer", "is not encrypted: use https")
	}
	for _, alg := range f.Algorithms {
		if !slices.Contains(oidc.Algorithms(), alg) {
			return nil, src.errorf("auth.oidc.algorithms", "%q is not one of %s", alg, strings.Join(oidc.Algorithms(), ", "))
		}
	}
	return &oidc.Config{Issuer: f.Issuer, Audience: f.Audience, Algorithms: f.Algorithms, UserClaim: f.UserClaim, TenantClaim: f.TenantClaim, RightsClaim: f.RightsClaim}, nil
}

// clientSecret checks where the secret of the client is.
func (src *source) clientSecret(f fileOIDC) (ClientSecret, error) {
	const key = "auth.oidc.client_secret_"
	s := ClientSecret{File: src.beside(f.SecretFile), Command: f.SecretCommand, Env: f.SecretEnv}
	switch {
	case s.File != "" && (s.Env != "" || s.Command != nil), s.Env != "" && s.Command != nil:
		return s, src.errorf("auth.oidc", "client_secret_file, client_secret_env and client_secret_command: the secret comes from one of them")
	case !variableName().MatchString(s.Env):
		return s, src.errorf(key+"env", "must be the name of an environment variable, not a secret")
	case noProgram(s.Command):
		return s, src.errorf(key+"command", "must be a list of a program and its arguments")
	}
	return s, nil
}

// noProgram reports whether a command that is given names no program.
func noProgram(command []string) bool {
	return command != nil && (len(command) == 0 || command[0] == "")
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// quota is q, with what f states in its place.
func (src *source) quota(key string, f fileQuota, q Quota) (Quota, error) {
	for name, of := range map[string]struct {
		stated *int
		into   *int
	}{"max_day_tokens": {f.DayTokens, &q.DayTokens}, "max_month_tokens": {f.MonthTokens, &q.MonthTokens},
		"max_parallel_calls": {f.Calls, &q.Calls}, "max_requests_per_minute": {f.Requests, &q.Requests},
		"max_stored_bytes": {f.Stored, &q.Stored}} {
		if of.stated != nil {
			if *of.stated < 0 {
				return q, src.errorf(key+"."+name, "%d is negative; 0 is any amount", *of.stated)
			}
			*of.into = *of.stated
		}
	}
	for name, of := range map[string]struct {
		stated *float64
		into   *provider.Money
	}{"max_day_cost": {f.DayCost, &q.DayCost}, "max_month_cost": {f.MonthCost, &q.MonthCost}} {
		if of.stated != nil {
			if *of.stated != 0 && provider.MoneyOf(*of.stated) <= 0 {
				return q, src.errorf(key+"."+name, "%v is not an amount of USD; 0 is any amount", *of.stated)
			}
			*of.into = provider.MoneyOf(*of.stated)
		}
	}
	return q, nil
}

// Linux shows each account as one of these that has no number in the namespace of the daemon: they are many accounts.
const (
	overflowUID    = 65534
	oldOverflowUID = 65535
)

// accountNumber reads the number or the name of an account of this machine.
func accountNumber(word string) (int, error) {
	found := word
	if _, err := strconv.ParseUint(word, 10, 32); err != nil {
		account, err := user.Lookup(word)
		if err != nil {
			return 0, fmt.Errorf("there is no such account on this machine; give its number if the system looks it up elsewhere")
		}
		found = account.Uid
	}
	uid, err := strconv.ParseUint(found, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("the account has no number: %q", found)
	}
	if uid == overflowUID || uid == oldOverflowUID || uid == 1<<32-1 {
		return 0, fmt.Errorf("the account %d stands for all accounts without a number", uid)
	}
	return int(uid), nil
}
