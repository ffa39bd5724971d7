package oauth

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"agentls/mcp/statefile"
)

// fileVersion is the version of mcp-auth.json that we write.
const fileVersion = 1

// file is mcp-auth.json.
type file struct {
	Version int `json:"version"`
	// Logins by resource, issuer and client, see [login.key].
	Logins map[string]login `json:"logins"`
	// Clients are those that we registered, by issuer.
	Clients map[string]client `json:"clients"`
	// Issuers are those that configured clients belong to, by server and client:
	// the secret of one is not shown to another.
	Issuers map[string]string `json:"issuers,omitempty"`
}

// login is what one login gave, and what it takes to renew it.
type login struct {
	Server     string    `json:"server"`           // its URL, as [Guard] has it
	Configured string    `json:"client,omitempty"` // see [Client.name]; empty: one that we registered
	Resource   string    `json:"resource"`         // RFC 8707
	Issuer     string    `json:"issuer"`
	ClientID   string    `json:"clientId"`
	Secret     string    `json:"clientSecret,omitempty"` // of a client that we registered
	Method     string    `json:"authMethod"`             // at the token endpoint, RFC 8414's word
	Token      string    `json:"tokenEndpoint"`
	Revocation string    `json:"revocationEndpoint,omitempty"`
	Scopes     []string  `json:"scopes,omitempty"` // that were asked for or granted
	Access     string    `json:"accessToken"`
	Refresh    string    `json:"refreshToken,omitempty"`
	Expires    time.Time `json:"expires,omitzero"` // zero: not known
	Obtained   time.Time `json:"obtained"`
}

// client is a client that we registered (RFC 7591).
type client struct {
	Issuer     string    `json:"issuer"`
	ID         string    `json:"clientId"`
	Secret     string    `json:"clientSecret,omitempty"`
	Expires    time.Time `json:"secretExpires,omitzero"`
	Method     string    `json:"authMethod"`
	Redirect   string    `json:"redirectUri"`
	Registered time.Time `json:"registered"`
}

func (l login) key() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{l.Server, l.Issuer, l.ClientID}, "\n")))
	return hex.EncodeToString(sum[:])
}

// fresh reports whether the access token can be used for a while.
func (l login) fresh(now time.Time) bool {
	before := min(renewBefore, l.Expires.Sub(l.Obtained)/4) // or those that live shortly would be renewed at each use
	return l.Access != "" && (l.Expires.IsZero() || now.Add(before).Before(l.Expires))
}

// usable reports whether it can be used at all.
func (l login) usable(now time.Time) bool {
	return l.Access != "" && (l.Expires.IsZero() || now.Before(l.Expires))
}

// of finds the login of a server; the newest one counts.
func (f file) of(server, configured string) (found login, ok bool) {
	for _, l := range f.Logins {
		if l.Server == server && l.Configured == configured && (!ok || l.Obtained.After(found.Obtained)) {
			found, ok = l, true
		}
	}
	return found, ok
}

// put takes a login in place of those that its server had with such a client:
// one of another authorization server is of no use any more.
func (f file) put(l login) {
	for key, old := range f.Logins {
		if old.Server == l.Server && old.Configured == l.Configured {
			delete(f.Logins, key)
		}
	}
	f.Logins[l.key()] = l
}

// store is the file as this process knows it. Other processes change it too.
type store struct {
	state statefile.File
	learn func(...string)
	log   *slog.Logger

	mu      sync.Mutex
	known   file
	seen    os.FileInfo  // of the file that known was read from; nil: there was none
	looked  bool         // at the file
	own     bool         // the file is not used: known is all there is
	owed    []func(file) // changes that could not be written
	learned []string
}

func newStore(path string, learn func(...string), log *slog.Logger) *store {
	return &store{state: statefile.File{Path: path, Version: fileVersion}, learn: learn, log: log, known: emptyFile(), own: path == ""}
}

func emptyFile() file {
	return file{Version: fileVersion, Logins: map[string]login{}, Clients: map[string]client{}, Issuers: map[string]string{}}
}

// read returns what is kept; it must not be changed.
func (s *store) read() file {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own {
		return s.known
	}
	now, err := os.Stat(s.state.Path)
	if err != nil {
		now = nil
	}
	if s.looked && same(now, s.seen) {
		return s.known
	}
	f, err := s.load()
	if err != nil {
		s.log.Error("logins of before are not known", "err", err)
	}
	s.seen, s.looked = now, true // a file that cannot be read is told of once
	s.take(f)
	return f
}

// same reports whether nobody replaced the file in between.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// load reads the file; one that cannot be used is as good as empty.
func (s *store) load() (file, error) {
	f := emptyFile()
	if err := s.state.Read(&f); err != nil {
		return emptyFile(), err
	}
	if f.Logins == nil {
		f.Logins = map[string]login{}
	}
	if f.Clients == nil {
		f.Clients = map[string]client{}
	}
	if f.Issuers == nil {
		f.Issuers = map[string]string{}
	}
	f.Version = fileVersion
	return f, nil
}

// take makes f what is known. s.mu is held.
func (s *store) take(f file) {
	s.known = f
	for _, l := range f.Logins {
		s.secret(l.Access, l.Refresh, l.Secret)
	}
	for _, c := range f.Clients {
		s.secret(c.Secret)
	}
}

func (s *store) secret(values ...string) {
	for _, v := range values {
		if v != "" && !slices.Contains(s.learned, v) {
			s.learned = append(s.learned, v)
			s.learn(v)
		}
	}
}

// change changes the file under its lock. What cannot be written holds for
// this process, and is written with the next change that can; the error says
// that it is not kept.
func (s *store) change(change func(file)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Path == "" {
		s.takeChanged(change)
		return nil
	}
	owed := append(s.owed, change)
	err := s.state.Locked(func() error {
		f, err := s.load()
		if err != nil {
			return err
		}
		for _, change := range owed {
			change(f)
		}
		if err := s.state.Write(f); err != nil {
			return err
		}
		s.take(f)
		return nil
	})
	if err == nil {
		s.own, s.owed, s.looked = false, nil, false
		return nil
	}
	if !s.own {
		s.log.Error("logins are not kept beyond this process, until that can be done", "err", err)
	}
	s.own, s.owed = true, owed[max(0, len(owed)-maxOwed):]
	s.takeChanged(change)
	return &notKeptError{err}
}

// maxOwed bounds the changes that wait to be written: the newest count.
const maxOwed = 1000

// takeChanged changes what is known, beside those who read it.
func (s *store) takeChanged(change func(file)) {
	f := file{Version: fileVersion, Logins: maps.Clone(s.known.Logins), Clients: maps.Clone(s.known.Clients), Issuers: maps.Clone(s.known.Issuers)}
	change(f)
	s.take(f)
}

// ErrNotKept says of a login that it was made, and ends with the process.
var ErrNotKept = errors.New("the login holds until agentls ends, it cannot be kept")

// notKeptError is ErrNotKept with its reason.
type notKeptError struct{ error }

func (e *notKeptError) Error() string        { return ErrNotKept.Error() + ": " + e.error.Error() }
func (e *notKeptError) Is(target error) bool { return target == ErrNotKept }
func (e *notKeptError) Unwrap() error        { return e.error }
