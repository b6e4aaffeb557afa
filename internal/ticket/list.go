package ticket

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	rotation = 12 * time.Hour     // between two new keys
	validity = 7 * 24 * time.Hour // of a ticket, by crypto/tls
	// refresh is how often the keys are read again, and announcement how long a key is stored
	// before it is used.
	refresh      = time.Minute
	announcement = 3 * refresh
)

// key is a key of session tickets.
type key struct {
	created time.Time // in seconds
	secret  [32]byte
}

// keyList are keys, the newest first.
type keyList []key

// maxText is the size in bytes above which a text is no list: lists have at most 17 keys.
const maxText = 8 << 10

const heading = "weir: keys of TLS session tickets, secret\n"

// errDamaged never says what the text is: it may be a part of the keys.
var errDamaged = errors.New("it is damaged")

// encode returns the list as text: a heading, a line for each key, and a checksum.
func (l keyList) encode() []byte {
	var b bytes.Buffer
	b.WriteString(heading)
	for _, k := range l {
		fmt.Fprintf(&b, "%s %x\n", k.created.UTC().Format(time.RFC3339), k.secret)
	}
	fmt.Fprintf(&b, "sum %x\n", sha256.Sum256(b.Bytes()))
	return b.Bytes()
}

// decode reads the text of a list. Text behind the checksum is ignored: it is left from a longer
// list.
func decode(text []byte) (keyList, error) {
	rest, ok := strings.CutPrefix(string(text), heading)
	if !ok || len(text) > maxText {
		return nil, errDamaged
	}
	var l keyList
	for {
		line, after, whole := strings.Cut(rest, "\n")
		word, code, _ := strings.Cut(line, " ")
		value, err := hex.DecodeString(code)
		if !whole || err != nil || len(value) != sha256.Size {
			return nil, errDamaged
		}
		if word == "sum" {
			if sum := sha256.Sum256(text[:len(text)-len(rest)]); [sha256.Size]byte(value) != sum || len(l) == 0 {
				return nil, errDamaged
			}
			return l, nil
		}
		created, err := time.Parse(time.RFC3339, word)
		if err != nil {
			return nil, errDamaged
		}
		l = append(l, key{created, [32]byte(value)})
		rest = after
	}
}

// rotate returns the list as it has to be at a time, and whether that is another one.
func (l keyList) rotate(now time.Time) (keyList, bool) {
	kept := slices.DeleteFunc(slices.Clone(l), func(k key) bool {
		age := now.Sub(k.created)
		return age > rotation+announcement+validity || age < -rotation // a clock was wrong
	})
	if len(kept) > 0 && now.Sub(kept[0].created) < rotation {
		return kept, len(kept) != len(l)
	}
	fresh := key{created: now.Truncate(time.Second)}
	rand.Read(fresh.secret[:]) // never fails
	return slices.Insert(kept, 0, fresh), true
}

// secrets returns the keys as crypto/tls uses them: the one that encrypts first.
func (l keyList) secrets(now time.Time) [][32]byte {
	current := slices.IndexFunc(l, func(k key) bool { return now.Sub(k.created) >= announcement })
	if current < 0 { // the oldest is the only one that others may have
		current = len(l) - 1
	}
	all := [][32]byte{l[current].secret}
	for i, k := range l {
		if i != current {
			all = append(all, k.secret)
		}
	}
	return all
}
