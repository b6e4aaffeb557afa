package httpload

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"weir/lab/load"
)

// MaxMixFile is the largest size in bytes of a file of requests.
const MaxMixFile = 4 << 20

// ReadMix reads a file of requests, and the files that it names, which are relative to its folder.
// An error Is load.ErrUsage.
func ReadMix(name string) ([]Request, error) {
	text, err := readLimited(name, MaxMixFile)
	if err != nil {
		return nil, load.UsageError(fmt.Sprintf("cannot read the described requests: %v", err))
	}
	mix, err := ParseMix(text)
	if err != nil {
		return nil, load.UsageError(fmt.Sprintf("%s: %v", name, err))
	}
	for i := range mix {
		if err := mix[i].ReadFiles(filepath.Dir(name)); err != nil {
			return nil, err
		}
	}
	if why := wrongMix(mix); why != "" {
		return nil, load.UsageError(fmt.Sprintf("%s: %s", name, why))
	}
	return mix, nil
}

// mixFile is the schema of a file of requests.
type mixFile struct {
	Requests []Request `toml:"request"`
}

// ParseMix parses TOML with a [[request]] table for each request. It does not check their values:
// see CheckMix.
func ParseMix(text []byte) ([]Request, error) {
	var file mixFile
	err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&file)
	var strict *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case errors.As(err, &strict) && len(strict.Errors) > 0:
		row, _ := strict.Errors[0].Position()
		return nil, fmt.Errorf("line %d: there is no setting %q: remove it or correct its name", row, strings.Join(strict.Errors[0].Key(), "."))
	case errors.As(err, &bad):
		row, column := bad.Position()
		return nil, fmt.Errorf("line %d, column %d: %s", row, column, strings.TrimPrefix(bad.Error(), "toml: "))
	case err != nil:
		return nil, err
	case len(file.Requests) == 0:
		return nil, errors.New("it has no request: write a table [[request]] for each")
	}
	return file.Requests, nil
}
