/* vendor_table - the rows of C13, for classify alone. */
#ifndef LULL_CORE_VENDOR_TABLE_H
#define LULL_CORE_VENDOR_TABLE_H

#include <stddef.h>

#include "lull/classify.h"
#include "lull/vendor.h"

/* Where a vendor says more than its status does. */
enum vendor_detail {
    DETAIL_NONE,   /* the status alone */
    DETAIL_ERRNO,  /* the number in the body's "errno" */
    DETAIL_REASON, /* the word in the body's "reason" */
};

struct vendor_row {
    enum lull_vendor vendor;
    unsigned status;
    enum vendor_detail detail;
    int number;       /* DETAIL_ERRNO */
    const char *word; /* DETAIL_REASON */
    enum lull_class class_;
    const char *rule;
};

/* A vendor's status has rows with a detail, or one without: not both. */
extern const struct vendor_row vendor_rows[];
extern const size_t vendor_row_count;

#endif
