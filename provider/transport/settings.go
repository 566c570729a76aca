package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Direct as [Settings].Proxy uses no proxy, whatever the environment says.
const Direct = "direct"

// maxFile bounds what is read of a file of certificates, in bytes. The bundle of a Linux distribution has 220 KB.
const maxFile = 4 << 20

// Settings say how a provider is reached. They come from the operator alone. The zero value is what the environment says (HTTPS_PROXY,
// HTTP_PROXY, NO_PROXY) and the system's certificates.
type Settings struct {
	Proxy      string          // an address with the scheme http, https, socks5 or socks5h, without a password; Direct; empty: the environment's
	ProxyLogin provider.Secret // "user:password" for Proxy; zero: the proxy asks for none
	CAFile     string          // PEM; these certificate authorities are trusted in addition to those of the system
	CertFile   string          // PEM; the client's certificate and those that lead to its authority
	KeyFile    string          // PEM; its private key, without a password
}

// A SettingError is a setting that cannot be used. Field is its key in the config file.
type SettingError struct {
	Field string
	Err   error
}

func (e *SettingError) Error() string { return e.Field + ": " + e.Err.Error() }

func (e *SettingError) Unwrap() error { return e.Err }

// IsZero reports whether nothing is set.
func (s Settings) IsZero() bool { return s == Settings{} }

// proxy is the address of the proxy with its login; nil: there is none.
func (s Settings) proxy() (*url.URL, error) {
	if s.Proxy == "" || s.Proxy == Direct {
		if !s.ProxyLogin.IsZero() {
			return nil, &SettingError{"proxy_login_env", errors.New("needs proxy, the address that gets the login")}
		}
		return nil, nil
	}
	wrong := func(text string) (*url.URL, error) { return nil, &SettingError{"proxy", errors.New(text)} }
	u, err := url.Parse(s.Proxy)
	if err != nil { // whose text has the address
		return wrong("is not an address such as http://proxy.example.com:3128")
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
	default:
		return wrong(`must begin with http://, https://, socks5:// or socks5h://, or be "direct"`)
	}
	switch {
	case u.User != nil:
		return wrong("must not hold a user or password: put user:password into an environment variable and name that in proxy_login_env")
	case u.Hostname() == "":
		return wrong("names no host")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return wrong("must end after the port")
	}
	if s.ProxyLogin.IsZero() {
		return u, nil
	}
	user, password, ok := strings.Cut(s.ProxyLogin.Reveal(), ":")
	if !ok || user == "" {
		return nil, &SettingError{"proxy_login_env", errors.New("the variable must have the form user:password")}
	}
	u.User = url.UserPassword(user, password)
	return u, nil
}

// authorities are the system's and those of CAFile; nil: the system's alone.
func (s Settings) authorities() (*x509.CertPool, error) {
	if s.CAFile == "" {
		return nil, nil
	}
	data, err := readFile(s.CAFile)
	if err != nil {
		return nil, &SettingError{"ca_file", err}
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, &SettingError{"ca_file", fmt.Errorf("the system's certificates cannot be read: %w", err)}
	}
	if !pool.AppendCertsFromPEM(data) {
		return nil, &SettingError{"ca_file", fmt.Errorf("%s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", s.CAFile)}
	}
	return pool, nil
}

// certificate reads the client's certificate, which may have been renewed since the last time.
func (s Settings) certificate() (*tls.Certificate, error) {
	switch {
	case s.KeyFile == "":
		return nil, &SettingError{"client_key_file", errors.New("missing: it holds the private key of client_cert_file")}
	case s.CertFile == "":
		return nil, &SettingError{"client_cert_file", errors.New("missing: it holds the certificate of client_key_file")}
	}
	cert, err := readFile(s.CertFile)
	if err != nil {
		return nil, &SettingError{"client_cert_file", err}
	}
	key, err := readFile(s.KeyFile)
	if err != nil {
		return nil, &SettingError{"client_key_file", err}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil { // it names no content of a file
		return nil, &SettingError{"client_cert_file", fmt.Errorf("%s and %s: %w", s.CertFile, s.KeyFile, err)}
	}
	return &pair, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than 4 MiB", path)
	}
	return data, err
}
