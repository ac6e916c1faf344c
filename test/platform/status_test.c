#include "platform/status.h"
#include "test/test.h"

TEST(a_hostile_name_is_printed_escaped)
{
    status_quiet(true);
    EXPECT_EQ(fail(E_DATA, "tensor %s", "a\x1b[2J\nb"), E_DATA);
    EXPECT_TEXT(status_message(), "tensor a\\x1b[2J\\x0ab");
}

TEST(a_message_longer_than_the_limit_is_cut)
{
    status_quiet(true);
    char name[2 * STATUS_MESSAGE_BYTES];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    EXPECT_EQ(fail(E_READ, "%s", name), E_READ);
    EXPECT(strlen(status_message()) < STATUS_MESSAGE_BYTES);
}
