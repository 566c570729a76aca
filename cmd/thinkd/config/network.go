package config

import (
	"errors"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/transport"
)

// network is how a provider is reached. Its files are read here as well, so that an error is found before the first call.
func (src *source) network(key string, f fileProvider, getenv func(string) string) (transport.Settings, error) {
	if !variableName().MatchString(f.ProxyEnv) {
		return transport.Settings{}, src.errorf(key+".proxy_login_env", "must be the name of an environment variable that holds user:password")
	}
	s := transport.Settings{Proxy: f.Proxy, ProxyLogin: provider.NewSecret(variable(getenv, f.ProxyEnv)),
		CAFile: src.beside(f.CAFile), CertFile: src.beside(f.CertFile), KeyFile: src.beside(f.KeyFile)}
	if f.ProxyEnv != "" && s.ProxyLogin.IsZero() {
		return transport.Settings{}, src.errorf(key+".proxy_login_env", "the variable %s is not set", f.ProxyEnv)
	}
	_, err := transport.New(s)
	if wrong, ok := errors.AsType[*transport.SettingError](err); ok {
		return transport.Settings{}, src.errorf(key+"."+wrong.Field, "%w", wrong.Err)
	}
	return s, err
}
