package files

import (
	"cmp"
	"slices"
	"strings"
)

// order is how a listing is sorted. Directories always come first.
type order struct {
	by         string // a column: "name", "size" or "time"
	descending bool
}

// column is a column's head, which is a link that sorts the listing by that column.
type column struct {
	Title, Class, Link string
	Note               string // shown behind the title on wide screens
	Sorted, Arrow      string // of the sorted column: aria-sort, and a sign
}

// parseOrder returns the order that a query asks for. An unknown column stands for the name.
func parseOrder(by, direction string) order {
	if by != "size" && by != "time" {
		by = "name"
	}
	return order{by: by, descending: direction == "desc"}
}

// columns returns the heads. The link of the current column reverses the order. The links of the
// others show the largest or latest first, and names from A to Z.
func (o order) columns() []column {
	columns := []column{{Title: "Name", Link: "name"}, {Title: "Size", Class: "size", Link: "size"}, {Title: "Changed", Note: "(UTC)", Link: "time"}}
	for i := range columns {
		c := &columns[i]
		by, descending := c.Link, c.Link != "name"
		if by == o.by {
			descending = !o.descending
			c.Sorted, c.Arrow = "ascending", "↑"
			if o.descending {
				c.Sorted, c.Arrow = "descending", "↓"
			}
		}
		c.Link = "?sort=" + by + "&order=asc"
		if descending {
			c.Link = "?sort=" + by + "&order=desc"
		}
	}
	return columns
}

// sort sorts rows: directories first, then by the column, then by name.
func (o order) sort(rows []row) {
	slices.SortFunc(rows, func(a, b row) int {
		if a.isDir != b.isDir {
			if a.isDir {
				return -1
			}
			return 1
		}
		result := 0
		switch o.by {
		case "size":
			result = cmp.Compare(a.bytes, b.bytes)
		case "time":
			result = a.Time.Compare(b.Time)
		default:
			result = compareNatural(a.Name, b.Name)
		}
		if o.descending {
			result = -result
		}
		return cmp.Or(result, compareNatural(a.Name, b.Name))
	})
}

// compareNatural compares names in natural order: numbers by value, so that file2 is before file10,
// and letters without case. Names that differ only in case or leading zeros are ordered by bytes.
func compareNatural(a, b string) int {
	x, y := strings.ToLower(a), strings.ToLower(b)
	for x != "" && y != "" {
		if n, m := leadingDigits(x), leadingDigits(y); n > 0 && m > 0 {
			if result := compareNumbers(x[:n], y[:m]); result != 0 {
				return result
			}
			x, y = x[n:], y[m:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// leadingDigits returns the number of ASCII digits that s begins with.
func leadingDigits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// compareNumbers compares decimal numbers of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
