package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/thinkd/thinkd/provider/durable"
)

// trust is the file store.keys: whom the servers of a cluster admit. All servers have the same. It has no key that signs: to admit other nodes, make
// new credentials.
type trust struct {
	Operator string `json:"operator"` // tokens that the servers believe
	System   string `json:"system"`
	Account  string `json:"account"`
	Route    string `json:"route"` // what servers say to each other
}

// settingsService is where a server says how its JetStream is set, such as that it syncs always. It changes nothing. Only the system account may ask,
// and nobody is a user of it.
const settingsService = "$SYS.REQ.SERVER.*.JSZ"

// makeCredentials makes the keys of a cluster: store.keys for the servers, and node.creds for the nodes.
func makeCredentials(args []string, out, log io.Writer) error {
	set := flag.NewFlagSet("thinkd-store credentials", flag.ContinueOnError)
	set.SetOutput(log)
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() != 1 {
		return errors.New("usage: thinkd-store credentials DIR")
	}
	dir := set.Arg(0)
	made, creds, err := newTrust()
	if err != nil {
		return fmt.Errorf("make credentials: %w", err)
	}
	data, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.MakeDir(dir); err != nil {
		return err
	}
	files := []struct {
		name string
		data []byte
		what string
	}{{"store.keys", data, "for each store server: keys"}, {"node.creds", creds, "for each node: creds"}}
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, f.name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there already: credentials are made once for a cluster", filepath.Join(dir, f.name))
		}
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := durable.Replace(path, f.data); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s  %s\n", path, f.what); err != nil {
			return err
		}
	}
	return nil
}

// newTrust makes an operator, a system account, and an account with one user, who may do everything in it. The user may ask the
// system account for the settings of servers, and for nothing else.
func newTrust() (made trust, creds []byte, err error) {
	operator, err := nkeys.CreateOperator()
	if err != nil {
		return made, nil, err
	}
	_, systemID, err := newAccount() // nobody is a user of it
	if err != nil {
		return made, nil, err
	}
	account, accountID, err := newAccount()
	if err != nil {
		return made, nil, err
	}
	operatorID, err := operator.PublicKey()
	if err != nil {
		return made, nil, err
	}
	root := jwt.NewOperatorClaims(operatorID)
	root.Name, root.SystemAccount = "thinkd", systemID
	inner := jwt.NewAccountClaims(systemID)
	inner.Name = "SYS"
	inner.Exports.Add(&jwt.Export{Name: "settings", Subject: settingsService, Type: jwt.Service, ResponseType: jwt.ResponseTypeSingleton})
	outer := jwt.NewAccountClaims(accountID)
	outer.Name = "thinkd"
	outer.Imports.Add(&jwt.Import{Name: "settings", Subject: settingsService, Account: systemID, Type: jwt.Service})
	outer.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	for _, token := range []struct {
		into *string
		make func() (string, error)
	}{
		{&made.Operator, func() (string, error) { return root.Encode(operator) }},
		{&made.System, func() (string, error) { return inner.Encode(operator) }},
		{&made.Account, func() (string, error) { return outer.Encode(operator) }},
	} {
		if *token.into, err = token.make(); err != nil {
			return made, nil, err
		}
	}
	made.Route = rand.Text()
	creds, err = newUser(account)
	return made, creds, err
}

func newAccount() (pair nkeys.KeyPair, id string, err error) {
	if pair, err = nkeys.CreateAccount(); err != nil {
		return nil, "", err
	}
	id, err = pair.PublicKey()
	return pair, id, err
}

// newUser makes a credentials file.
func newUser(account nkeys.KeyPair) ([]byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	id, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	claims := jwt.NewUserClaims(id)
	claims.Name = "node"
	token, err := claims.Encode(account)
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, err
	}
	return jwt.FormatUserConfig(token, seed)
}

// readTrust reads the file store.keys.
func readTrust(path string) (t trust, operator *jwt.OperatorClaims, err error) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		return t, nil, fmt.Errorf("keys: %w", err)
	}
	if operator, err = jwt.DecodeOperatorClaims(t.Operator); err != nil {
		return t, nil, fmt.Errorf(`keys: %s is no file that "thinkd-store credentials" made: %w`, path, err)
	}
	return t, operator, nil
}
