package files

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNaturalOrder(t *testing.T) {
	want := []string{"", "1", "01", "2", "10", "99999999999999999999", "100000000000000000000", "a", "File1", "file1", "file01b", "file2", "file2a", "file10", "file10a", "Ä", "ä"}
	for i := range want {
		for j := range want {
			got := compareNatural(want[i], want[j])
			if i == j && got != 0 || i != j && got == 0 {
				t.Errorf("compare %q with %q: got %d, want 0 only for equal names", want[i], want[j], got)
			}
			if got != -compareNatural(want[j], want[i]) {
				t.Errorf("compare %q with %q: got %d both ways", want[i], want[j], got)
			}
		}
	}
	names := []string{"file10", "File1", "file2", "b", "file10a", "A"}
	slices.SortFunc(names, compareNatural)
	if got := strings.Join(names, " "); got != "A b File1 file2 file10 file10a" {
		t.Errorf("got order %q, want numbers by value and letters without case", got)
	}
}

// listed matches the name of a row.
var listed = regexp.MustCompile(`<th scope="row"><a href="[^"]*">([^<]*)</a>`)

func TestListingIsSortedByItsLinks(t *testing.T) {
	dir := tree(t, map[string]string{"d/file2": "xxx", "d/file10": "x", "d/File1": "xx", "d/z/x": "", "d/a9/x": ""})
	for name, day := range map[string]int{"file2": 2, "file10": 3, "File1": 1, "z": 4, "a9": 5} {
		when := time.Date(2026, 1, day, 12, 30, 0, 0, time.UTC)
		if err := os.Chtimes(filepath.Join(dir, "d", name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, Config{Dir: dir, List: true})
	for query, want := range map[string]string{
		"":                      "a9/ z/ File1 file2 file10",
		"?sort=name&order=desc": "z/ a9/ file10 file2 File1",
		"?sort=size&order=asc":  "a9/ z/ file10 File1 file2",
		"?sort=size&order=desc": "a9/ z/ file2 File1 file10",
		"?sort=time&order=asc":  "z/ a9/ File1 file2 file10",
		"?sort=time&order=desc": "a9/ z/ file10 file2 File1",
		"?sort=%3Cb%3E&order=x": "a9/ z/ File1 file2 file10",
	} {
		_, body := get(t, s, "/d/"+query)
		var got []string
		for _, m := range listed.FindAllStringSubmatch(body, -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
		if strings.Count(body, "aria-sort=") != 1 {
			t.Errorf("%q: got %d sorted columns, want 1", query, strings.Count(body, "aria-sort="))
		}
	}
	_, body := get(t, s, "/d/?sort=size&order=desc")
	for _, want := range []string{
		`<th scope="col"><a href="?sort=name&amp;order=asc">Name</a></th>`,
		`<th scope="col" class="size" aria-sort="descending"><a href="?sort=size&amp;order=asc">Size</a> <span aria-hidden="true">↓</span></th>`,
		`<th scope="col"><a href="?sort=time&amp;order=desc">Changed<span class="note"> (UTC)</span></a></th>`,
		`<time datetime="2026-01-02T12:30:00Z">2026-01-02<span> 12:30</span></time>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("got no %q in\n%s", want, body)
		}
	}
}

func TestBreadcrumbsLeadToEachDirectory(t *testing.T) {
	for path, want := range map[string][]breadcrumb{
		"/":         {{"Start", ""}},
		"/a/":       {{"Start", "../"}, {"a", ""}},
		"/a b/<c>/": {{"Start", "../../"}, {"a b", "../"}, {"<c>", ""}},
	} {
		if got := breadcrumbs(path); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

func TestListingNeedsNothingElse(t *testing.T) {
	s := serve(t, Config{Dir: tree(t, map[string]string{"empty/.hidden": ""}), List: true})
	_, body := get(t, s, "/empty/")
	for _, unwanted := range []string{"<script", "<link", "<img", "http:", "https:", "url(", "@import", "ZgotmplZ", ".hidden"} {
		if strings.Contains(body, unwanted) {
			t.Errorf("got %q, want a page without scripts, without other files, and without dotfiles", unwanted)
		}
	}
	for _, want := range []string{"This folder is empty.", "prefers-color-scheme: dark", `name="viewport"`} {
		if !strings.Contains(body, want) {
			t.Errorf("got no %q in\n%s", want, body)
		}
	}
}
