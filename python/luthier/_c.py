"""The C interface: every type of ``luthier.h``, declared once; `_c_functions` has its functions.

A test reads the header and checks names, types and offsets against this module.
"""

from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int,
                    c_size_t, c_uint, c_uint64, c_void_p)

NONE = c_size_t(-1).value

STATUS = {"OK": 0, "ENOMEM": -1, "EARG": -2, "EFORMAT": -3, "ECANCELED": -4, "EIO": -5,
          "ENUMERIC": -6, "EUNSUPPORTED": -7}

Status = c_int
Enum = c_uint  # of the C enums without negative values

LogFn = CFUNCTYPE(None, c_void_p, Enum, c_char_p)
ProgressFn = CFUNCTYPE(c_int, c_void_p, c_char_p, c_double, c_double)
NameFn = CFUNCTYPE(c_char_p, c_void_p, c_size_t)
WriteFn = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)


class Error(Structure):
    _fields_ = [("status", Status), ("line", c_size_t), ("column", c_size_t),
                ("file", c_char * 160), ("message", c_char * 352)]


class CtxOptions(Structure):
    _fields_ = [("size", c_size_t), ("threads", c_uint), ("isa", c_char_p), ("precision", Enum),
                ("dropping", Enum), ("seed", c_uint64), ("log", LogFn), ("progress", ProgressFn),
                ("user", c_void_p), ("device", c_char_p), ("device_memory", c_size_t),
                ("cluster", c_char_p)]


class TableOptions(Structure):
    _fields_ = [("size", c_size_t), ("format", Enum), ("columns", POINTER(c_char_p)),
                ("column_count", c_size_t), ("where", POINTER(c_char_p)),
                ("where_count", c_size_t), ("optional", c_char_p),
                ("more", POINTER(c_char_p)), ("more_count", c_size_t),
                ("file_column", c_char_p), ("arrays", POINTER(c_char_p)),
                ("array_count", c_size_t), ("max_row", c_size_t)]


class Column(Structure):
    # Pointers to arrays are addresses: they come from NumPy and from the interpreter.
    _fields_ = [("name", c_char_p), ("text", c_void_p), ("length", c_void_p),
                ("numbers", c_void_p), ("stride", c_size_t), ("vectors", c_void_p),
                ("units", c_void_p), ("dimension", c_size_t)]


class KernelSettings(Structure):
    _fields_ = [("size", c_size_t), ("wild_type", c_char_p), ("offset", c_int),
                ("fold_case", c_bool), ("arrays", POINTER(c_char_p)),
                ("array_count", c_size_t)]


class Argument(Structure):
    _fields_ = [("name", c_char_p), ("help", c_char_p), ("initial", c_char_p),
                ("choices", c_char_p), ("learned", c_bool), ("lo", c_double), ("hi", c_double),
                ("role", Enum)]


class Family(Structure):
    _fields_ = [("name", c_char_p), ("help", c_char_p), ("usage", c_char_p),
                ("arguments", POINTER(Argument)), ("kind", Enum)]


class Param(Structure):
    _fields_ = [("path", c_char_p), ("value", c_double), ("lo", c_double), ("hi", c_double),
                ("held", c_bool), ("tag", c_char_p), ("family", POINTER(Family)),
                ("argument", POINTER(Argument))]


class GpStep(Structure):
    _fields_ = [("start", c_size_t), ("iteration", c_size_t), ("evaluations", c_size_t),
                ("evidence", c_double), ("gradient", c_double), ("seconds", c_double)]


GpStepFn = CFUNCTYPE(c_int, c_void_p, POINTER(GpStep))


class GpOptions(Structure):
    _fields_ = [("size", c_size_t), ("max_iter", c_size_t), ("restarts", c_size_t),
                ("learn", c_bool), ("zero_mean", c_bool), ("unscaled", c_bool),
                ("noise", c_double), ("noise_held", c_bool), ("fix", POINTER(c_char_p)),
                ("fix_count", c_size_t), ("prior", POINTER(c_char_p)), ("prior_count", c_size_t),
                ("vectors", c_char_p), ("step", GpStepFn), ("user", c_void_p), ("task", Enum),
                ("likelihood", Enum), ("posterior", Enum), ("inducing", c_size_t),
                ("learn_rows", c_size_t), ("bound", Enum), ("tolerance", c_double),
                ("probes", c_size_t), ("store", Enum), ("journal", c_char_p),
                ("gram", c_char_p), ("on_disk", c_bool), ("warp", c_char_p), ("lower", c_double),
                ("upper", c_double), ("noise_by", c_char_p), ("weights", c_char_p),
                ("exposure", c_char_p), ("point", Enum), ("mean", c_char_p),
                ("intervals", c_bool), ("average", c_size_t),
                ("coregion", c_size_t), ("noise_kernel", c_char_p), ("partial", c_bool),
                ("calibrate", c_bool), ("word_vectors", c_void_p), ("keep_vectors", Enum)]


class ClassRows(Structure):
    _fields_ = [("name", c_char_p), ("rows", c_size_t)]


class GpParam(Structure):
    _fields_ = [("path", c_char_p), ("value", c_double), ("start", c_double), ("held", c_bool),
                ("at_bound", c_bool), ("tag", c_char_p), ("low", c_double), ("high", c_double),
                ("undetermined", c_bool)]


class GpSymbol(Structure):
    _fields_ = [("kernel", c_char_p), ("symbol", c_char_p), ("decay", c_double),
                ("alpha", c_double), ("count", c_size_t)]


class TrendWeight(Structure):
    _fields_ = [("column", c_char_p), ("weight", c_double), ("sd", c_double),
                ("deviation", c_double)]


class Metrics(Structure):
    _fields_ = [("count", c_size_t), ("nlpd", c_double), ("mae", c_double), ("rmse", c_double),
                ("r", c_double), ("r2", c_double), ("coverage", c_double),
                ("spearman", c_double), ("kendall", c_double), ("ndcg", c_double),
                ("recall", c_double), ("crps", c_double), ("calibration", c_double),
                ("qwk", c_double)]


class GpReport(Structure):
    _fields_ = [("rows", c_size_t), ("iterations", c_size_t), ("evaluations", c_size_t),
                ("starts", c_size_t), ("evidence", c_double), ("noise", c_double),
                ("jitter", c_double), ("seconds", c_double), ("converged", c_bool),
                ("interrupted", c_bool), ("orders", c_size_t), ("nu", c_double * 64),
                ("order_share", c_double * 64), ("loo", POINTER(Metrics)), ("posterior", Enum),
                ("learned_rows", c_size_t), ("inducing", c_size_t), ("trace_left", c_double),
                ("left_to_noise", c_double), ("cg_steps", c_size_t), ("cg_residual", c_double),
                ("evidence_error", c_double), ("draws", c_size_t), ("effective_draws", c_double),
                ("sharpness", c_double), ("left_out_loss", c_double),
                ("left_out_loss_plain", c_double)]


class GpPrediction(Structure):
    _fields_ = [("point", c_void_p), ("mean", c_void_p), ("median", c_void_p), ("sd", c_void_p),
                ("lower", c_void_p), ("upper", c_void_p), ("level", c_double),
                ("latent_mean", c_void_p), ("latent_sd", c_void_p), ("probability", c_void_p),
                ("y", c_void_p), ("log_density", c_void_p), ("cdf", c_void_p),
                ("crps", c_void_p), ("given", POINTER(c_char_p)), ("given_count", c_size_t)]


class GpSampleOptions(Structure):
    _fields_ = [("size", c_size_t), ("likelihood", Enum), ("warp", c_char_p),
                ("lower", c_double), ("upper", c_double), ("set", POINTER(c_char_p)),
                ("set_count", c_size_t)]


class GpPlan(Structure):
    _fields_ = [("rows", c_size_t), ("learn_rows", c_size_t), ("inducing", c_size_t),
                ("posterior", Enum), ("store", Enum), ("available", c_double),
                ("learn_bytes", c_double), ("bytes", c_double), ("learn_pairs", c_double),
                ("pairs", c_double), ("learn_cell_orders", c_double), ("cell_orders", c_double),
                ("learn_seconds", c_double), ("seconds", c_double),
                ("learn_read", c_double), ("read", c_double), ("on_disk", c_bool),
                ("name", c_char_p)]


class ClassMetrics(Structure):
    _fields_ = [("support", c_size_t), ("precision", c_double), ("recall", c_double),
                ("f1", c_double)]


class LabelMetrics(Structure):
    _fields_ = [("count", c_size_t), ("accuracy", c_double), ("micro_precision", c_double),
                ("micro_recall", c_double), ("micro_f1", c_double), ("macro_precision", c_double),
                ("macro_recall", c_double), ("macro_f1", c_double), ("auc", c_double),
                ("log_loss", c_double), ("brier", c_double), ("auprc", c_double),
                ("calibration", c_double), ("qwk", c_double)]


class CompareOptions(Structure):
    _fields_ = [("size", c_size_t), ("resamples", c_size_t), ("seed", c_uint64),
                ("level", c_double)]


class LabelPrediction(Structure):
    _fields_ = [("predicted", c_void_p), ("probability", c_void_p), ("score", c_void_p)]


class Compared(Structure):
    _fields_ = [("name", c_char_p), ("better", c_char_p), ("value", c_double),
                ("difference", c_double), ("lower", c_double), ("upper", c_double),
                ("first_better", c_double), ("p", c_double), ("resamples", c_size_t)]


class SvmOptions(Structure):
    _fields_ = [("size", c_size_t), ("task", Enum), ("nu_svm", c_bool), ("one_vs_rest", c_bool),
                ("probability", c_bool), ("C", c_void_p), ("C_count", c_size_t),
                ("epsilon", c_void_p), ("epsilon_count", c_size_t), ("nu", c_void_p),
                ("nu_count", c_size_t), ("set", POINTER(c_char_p)), ("set_count", c_size_t),
                ("inner_folds", c_size_t), ("class_weights", c_char_p), ("vectors", c_char_p),
                ("solver", Enum), ("features", c_size_t), ("gram", c_char_p),
                ("partial", c_bool), ("word_vectors", c_void_p), ("keep_vectors", Enum)]


class SvmReport(Structure):
    _fields_ = [("type", c_char_p), ("score", c_char_p), ("regression", c_bool),
                ("multi_label", c_bool), ("one_vs_rest", c_bool), ("probability", c_bool),
                ("C", c_double), ("epsilon", c_double), ("nu", c_double), ("inner", c_double),
                ("rows", c_size_t), ("support", c_size_t), ("classes", c_size_t),
                ("problems", c_size_t), ("points", c_size_t), ("inner_folds", c_size_t),
                ("seconds", c_double), ("linear", c_bool), ("weights", c_size_t),
                ("features", c_size_t)]


class SvmClass(Structure):
    _fields_ = [("name", c_char_p), ("rows", c_size_t), ("support", c_size_t)]


class SvmPoint(Structure):
    _fields_ = [("kernel", c_char_p), ("C", c_double), ("epsilon", c_double), ("nu", c_double),
                ("score", c_double)]


class SvmPrediction(Structure):
    _fields_ = [("value", c_void_p), ("label", c_void_p), ("has", c_void_p),
                ("probability", c_void_p), ("decision", c_void_p), ("score", c_void_p)]


class VectorsOrigin(Structure):
    _fields_ = [("name", c_char_p), ("words", c_size_t), ("dimension", c_size_t), ("keep", Enum)]


class WordsWithoutVector(Structure):
    _fields_ = [("rows", c_size_t), ("units", c_size_t), ("occurrences", c_size_t),
                ("words", c_size_t), ("new_occurrences", c_size_t), ("new_words", c_size_t)]


class ExplainOptions(Structure):
    _fields_ = [("size", c_size_t), ("target", c_size_t), ("patterns", c_size_t),
                ("rows", c_size_t), ("nearest", c_size_t)]


class ReasonsSummary(Structure):
    _fields_ = [("mean", c_double), ("baseline", c_double), ("missed", c_double),
                ("sd", c_double), ("distance", c_double), ("noise", c_double),
                ("prior", c_double), ("probability", c_double), ("exact", c_bool),
                ("parts", c_size_t), ("patterns", c_size_t), ("rows", c_size_t),
                ("trend", c_double), ("predicted", c_double), ("unit", c_char_p),
                ("least", c_double), ("most", c_double)]


class ReasonsPart(Structure):
    _fields_ = [("column", c_char_p), ("text", c_char_p), ("first", c_size_t),
                ("length", c_size_t), ("depth", c_size_t), ("weight", c_double),
                ("seen", c_bool)]


class ReasonsPattern(Structure):
    _fields_ = [("column", c_char_p), ("text", c_char_p), ("weight", c_double),
                ("rows", c_size_t), ("example", c_size_t)]


class ReasonsRow(Structure):
    _fields_ = [("row", c_size_t), ("weight", c_double), ("similarity", c_double),
                ("y", c_double), ("label", c_char_p)]


class ProposeOptions(Structure):
    _fields_ = [("size", c_size_t), ("count", c_size_t), ("acquisition", Enum), ("batch", Enum),
                ("minimize", c_bool), ("objectives", POINTER(c_char_p)),
                ("objective_count", c_size_t), ("weights", c_void_p), ("beta", c_double),
                ("best", c_double), ("pending", c_void_p), ("feasible", c_void_p),
                ("feasible_class", c_char_p), ("feasible_least", c_double),
                ("feasible_most", c_double), ("cost", c_char_p), ("distance", c_size_t),
                ("repeats", c_bool), ("shortlist", c_size_t), ("draws", c_size_t),
                ("wild_type", c_char_p), ("measured", c_void_p)]


class Proposal(Structure):
    _fields_ = [("row", c_size_t), ("mean", c_double), ("sd", c_double),
                ("acquisition", c_double), ("feasible", c_double), ("cost", c_double),
                ("nearest", c_size_t), ("distance", c_size_t), ("mutations", c_size_t),
                ("label", c_char_p)]


ValidFn = CFUNCTYPE(c_int, c_void_p, POINTER(c_char_p), c_size_t, POINTER(c_bool))


class SearchOptions(Structure):
    _fields_ = [("size", c_size_t), ("evaluations", c_size_t), ("population", c_size_t),
                ("trust", c_size_t), ("valid", ValidFn), ("user", c_void_p)]


class DesignOptions(Structure):
    _fields_ = [("size", c_size_t), ("kernel", c_char_p), ("targets", POINTER(c_char_p)),
                ("target_count", c_size_t), ("space", c_char_p), ("candidates", c_char_p),
                ("pool", c_void_p), ("propose", POINTER(ProposeOptions)),
                ("search", POINTER(SearchOptions)), ("gp", POINTER(GpOptions)),
                ("settings", POINTER(c_char_p)), ("setting_count", c_size_t)]


class DesignReport(Structure):
    _fields_ = [("rounds", c_size_t), ("measured", c_size_t), ("pending", c_size_t),
                ("best", c_double), ("best_row", c_size_t), ("seconds", c_double)]


class GramStoreOptions(Structure):
    _fields_ = [("size", c_size_t), ("resume", c_bool), ("part", c_size_t), ("parts", c_size_t),
                ("tile", c_size_t), ("values", Enum)]


class StoreInfo(Structure):
    _fields_ = [("rows", c_size_t), ("cols", c_size_t), ("tile_rows", c_size_t),
                ("tile_cols", c_size_t), ("tiles", c_size_t), ("missing", c_size_t),
                ("symmetric", c_bool), ("values", Enum), ("precision", Enum),
                ("kernel", c_char_p), ("isa", c_char_p), ("made_by", c_char_p)]


class Machine(Structure):
    _fields_ = [("fma_f64", c_double), ("fma_f32", c_double), ("dgemm_flops", c_double),
                ("blas", c_char_p), ("core", c_char_p)]


# luthier.h's name of each structure and callback above; what the header test goes by.
STRUCTURES = {
    "lth_error": Error, "lth_ctx_options": CtxOptions, "lth_table_options": TableOptions,
    "lth_kernel_settings": KernelSettings,
    "lth_column": Column, "lth_param": Param, "lth_argument": Argument, "lth_family": Family,
    "lth_gp_step": GpStep, "lth_gp_options": GpOptions, "lth_class_rows": ClassRows,
    "lth_gp_param": GpParam, "lth_gp_symbol": GpSymbol, "lth_trend_weight": TrendWeight,
    "lth_vectors_origin": VectorsOrigin, "lth_words_without_vector": WordsWithoutVector,
    "lth_metrics": Metrics,
    "lth_gp_report": GpReport, "lth_gp_prediction": GpPrediction,
    "lth_gp_sample_options": GpSampleOptions,
    "lth_gp_plan": GpPlan, "lth_class_metrics": ClassMetrics,
    "lth_compare_options": CompareOptions, "lth_label_prediction": LabelPrediction,
    "lth_compared": Compared,
    "lth_label_metrics": LabelMetrics, "lth_svm_options": SvmOptions,
    "lth_svm_report": SvmReport, "lth_svm_class": SvmClass, "lth_svm_point": SvmPoint,
    "lth_svm_prediction": SvmPrediction, "lth_explain_options": ExplainOptions,
    "lth_reasons_summary": ReasonsSummary, "lth_reasons_part": ReasonsPart,
    "lth_reasons_pattern": ReasonsPattern, "lth_reasons_row": ReasonsRow,
    "lth_propose_options": ProposeOptions, "lth_proposal": Proposal,
    "lth_search_options": SearchOptions, "lth_design_options": DesignOptions,
    "lth_design_report": DesignReport,
    "lth_gram_store_options": GramStoreOptions, "lth_store_info": StoreInfo,
    "lth_machine": Machine,
}
CALLBACKS = {"lth_log_fn": LogFn, "lth_progress_fn": ProgressFn, "lth_name_fn": NameFn,
             "lth_write_fn": WriteFn,
             "lth_gp_step_fn": GpStepFn, "lth_valid_fn": ValidFn}
