// The table of filters, sorted by name.
#include "lamella/text/chat_template/filters.h"

namespace lamella::jinja {
namespace {

constexpr Builtin kFilters[] = {
    {"abs", "", filter_abs},
    {"attr", "name", filter_attr},
    {"batch", "linecount fill_with?", filter_batch},
    {"capitalize", "", filter_capitalize},
    {"center", "width?", filter_center},
    {"count", "", filter_length},
    {"d", "default_value? boolean?", filter_default},
    {"default", "default_value? boolean?", filter_default},
    {"dictsort", "case_sensitive? by? reverse?", filter_dictsort},
    {"e", "", filter_escape},
    {"escape", "", filter_escape},
    {"filesizeformat", "binary?", filter_filesizeformat},
    {"first", "", filter_first},
    {"float", "default?", filter_float},
    {"forceescape", "", filter_escape},
    {"format", "*", filter_format},
    {"groupby", "attribute default? case_sensitive?", filter_groupby},
    {"indent", "width? first? blank?", filter_indent},
    {"int", "default? base?", filter_int},
    {"items", "", filter_items},
    {"join", "d? attribute?", filter_join},
    {"last", "", filter_last},
    {"length", "", filter_length},
    {"list", "", filter_list},
    {"lower", "", filter_lower},
    {"map", "*", filter_map},
    {"max", "case_sensitive? attribute?", filter_max},
    {"min", "case_sensitive? attribute?", filter_min},
    {"reject", "*", filter_reject},
    {"rejectattr", "attribute *", filter_rejectattr},
    {"replace", "old new count?", filter_replace},
    {"reverse", "", filter_reverse},
    {"round", "precision? method?", filter_round},
    {"safe", "", filter_safe},
    {"select", "*", filter_select},
    {"selectattr", "attribute *", filter_selectattr},
    {"slice", "slices fill_with?", filter_slice},
    {"sort", "reverse? case_sensitive? attribute?", filter_sort},
    {"string", "", filter_string},
    {"striptags", "", filter_striptags},
    {"sum", "attribute? start?", filter_sum},
    {"title", "", filter_title},
    {"tojson", "indent? ensure_ascii? separators? sort_keys?", filter_tojson},
    {"trim", "chars?", filter_trim},
    {"truncate", "length? killwords? end? leeway?", filter_truncate},
    {"unique", "case_sensitive? attribute?", filter_unique},
    {"upper", "", filter_upper},
    {"urlencode", "", filter_urlencode},
    {"wordcount", "", filter_wordcount},
    {"xmlattr", "autospace?", filter_xmlattr},
};

}  // namespace

std::span<const Builtin> filters() { return kFilters; }

}  // namespace lamella::jinja
