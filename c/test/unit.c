#include "check.h"
#include "unit.h"

#include <stdio.h>

/* unit VECTORS: the folder of the golden vectors */
int
main(int argc, char **argv)
{
	check(argc == 2, "the argument is the folder docs/vectors");
	test_text();
	test_crypto();
	test_accounts(argv[1]);
	test_log(argv[1]);
	test_refused();
	test_padding();
	test_log_processes();
	test_shared();
	printf("%u\n", checks_passed());
	return 0;
}
