// The functions behind the rows of filters.cpp.
#pragma once

#include "lamella/text/chat_template/builtins.h"

namespace lamella::jinja {

// filters_text.cpp: strings and numbers.
Value filter_abs(Call&);
Value filter_capitalize(Call&);
Value filter_center(Call&);
Value filter_escape(Call&);
Value filter_filesizeformat(Call&);
Value filter_float(Call&);
Value filter_format(Call&);
Value filter_indent(Call&);
Value filter_int(Call&);
Value filter_lower(Call&);
Value filter_replace(Call&);
Value filter_round(Call&);
Value filter_safe(Call&);
Value filter_string(Call&);
Value filter_striptags(Call&);
Value filter_title(Call&);
Value filter_tojson(Call&);
Value filter_trim(Call&);
Value filter_truncate(Call&);
Value filter_upper(Call&);
Value filter_urlencode(Call&);
Value filter_wordcount(Call&);

// filters_sequence.cpp: lists and dicts.
Value filter_attr(Call&);
Value filter_batch(Call&);
Value filter_default(Call&);
Value filter_dictsort(Call&);
Value filter_first(Call&);
Value filter_groupby(Call&);
Value filter_items(Call&);
Value filter_join(Call&);
Value filter_last(Call&);
Value filter_length(Call&);
Value filter_list(Call&);
Value filter_map(Call&);
Value filter_max(Call&);
Value filter_min(Call&);
Value filter_reject(Call&);
Value filter_rejectattr(Call&);
Value filter_reverse(Call&);
Value filter_select(Call&);
Value filter_selectattr(Call&);
Value filter_slice(Call&);
Value filter_sort(Call&);
Value filter_sum(Call&);
Value filter_unique(Call&);
Value filter_xmlattr(Call&);

}  // namespace lamella::jinja
