#include "clock.h"

#include <string.h>
#include <time.h>

static const uint64_t last_ms = 253402300799999; /* 9999-12-31T23:59:59.999Z */

static uint64_t
read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t
clock_now(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t
clock_steady(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

/* Returns the days since 1970 of a Gregorian date, computed in years that start in March. */
static int64_t
days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month > 2 ? year : year - 1;
	int64_t m = month > 2 ? month - 3 : month + 9;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static void
date_of(int64_t days, int *year, int *month, int *day)
{
	int64_t n = days + 719468;
	int64_t era = n / 146097, in_era = n % 146097; /* of 400 years */
	int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	int64_t in_year = in_era - (365 * y + y / 4 - y / 100);
	int64_t m = (5 * in_year + 2) / 153;

	*day = (int)(in_year - (153 * m + 2) / 5 + 1);
	*month = (int)(m < 10 ? m + 3 : m - 9);
	*year = (int)(400 * era + y + (*month <= 2));
}

static void
digits(char *to, int width, uint64_t value)
{
	while (width-- > 0) {
		to[width] = (char)('0' + value % 10);
		value /= 10;
	}
}

void
clock_text(uint64_t ms, char to[CLOCK_TEXT + 1])
{
	uint64_t of_day;
	int year, month, day;

	if (ms > last_ms)
		ms = last_ms;
	of_day = ms % 86400000;
	date_of((int64_t)(ms / 86400000), &year, &month, &day);
	memcpy(to, "0000-00-00T00:00:00.000Z", CLOCK_TEXT + 1);
	digits(to, 4, (uint64_t)year);
	digits(to + 5, 2, (uint64_t)month);
	digits(to + 8, 2, (uint64_t)day);
	digits(to + 11, 2, of_day / 3600000);
	digits(to + 14, 2, of_day / 60000 % 60);
	digits(to + 17, 2, of_day / 1000 % 60);
	digits(to + 20, 3, of_day % 1000);
}

static bool
number(struct slice text, size_t from, size_t width, int64_t *value)
{
	unsigned long long n;
	bool so = slice_number((struct slice){ text.at + from, width }, 9999, &n);

	*value = so ? (int64_t)n : 0;
	return so;
}

bool
clock_parse(struct slice text, uint64_t *ms)
{
	int64_t year, month, day, hour, minute, second, thousandth;
	char again[CLOCK_TEXT + 1];

	if (text.length != CLOCK_TEXT || !number(text, 0, 4, &year) || !number(text, 5, 2, &month) ||
	    !number(text, 8, 2, &day) || !number(text, 11, 2, &hour) || !number(text, 14, 2, &minute) ||
	    !number(text, 17, 2, &second) || !number(text, 20, 3, &thousandth) || year < 1970 || month < 1 || month > 12)
		return false;
	*ms = (uint64_t)days_of(year, month, day) * 86400000 + (uint64_t)(hour * 3600000 + minute * 60000 + second * 1000 + thousandth);
	clock_text(*ms, again);
	/* rejects 31 February and wrong separators */
	return memcmp(again, text.at, CLOCK_TEXT) == 0;
}
