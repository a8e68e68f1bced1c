"""Data: tables with roles, their split into parts, and their preparation."""

from smpcore.datasets.biquads import biquad, filter_names
from smpcore.datasets.bundled import list_datasets, load_dataset
from smpcore.datasets.cleaning import (
    CleaningStep,
    Effect,
    Imputation,
    Pair,
    added_columns,
    apply_steps,
    describe_steps,
    effect_of,
    step_of,
    steps_from_json,
    steps_to_json,
    with_step,
)
from smpcore.datasets.columns import (
    AFTERWARDS,
    IDLE,
    DateUse,
    Kind,
    Role,
    Task,
    as_numbers,
    as_text,
    distinct_times,
    read_times,
    read_weights,
)
from smpcore.datasets.dataset import (
    MOST_FORBIDDEN,
    Dataset,
    Matrix,
    forbid,
    forbiddable,
    in_place,
    join_columns,
    memory_of,
    with_series,
)
from smpcore.datasets.delimited import (
    COMMENTS,
    DELIMITERS,
    ENCODINGS,
    QUOTES,
    THOUSANDS,
)
from smpcore.datasets.display_names import (
    list_names,
    listed,
    plain_number,
    plural,
    shorten_name,
    shown,
)
from smpcore.datasets.follow_up import FollowUp
from smpcore.datasets.images import image_shapes, image_words, is_images
from smpcore.datasets.limits import MAX_BYTES, MAX_ROWS
from smpcore.datasets.matrices import (
    make_matrices,
    matrix_of,
    read_kernels,
    read_matrices,
    read_similarities,
    row_titles,
    used_matrices,
)
from smpcore.datasets.named_roles import late_columns, weight_columns
from smpcore.datasets.notation import DECIMALS, MISSING_WORDS
from smpcore.datasets.openml_sets import fetch_openml, search_openml
from smpcore.datasets.outcome import (
    IN_DOUBT,
    Outcome,
    likely_outcome,
    rarer_class,
)
from smpcore.datasets.parquet_rows import ParquetRows, file_statistics
from smpcore.datasets.preparation import (
    Input,
    Preparation,
    only_compared,
    prepare,
    text_features,
    weighted_median,
)
from smpcore.datasets.process_pool import ProcessPool
from smpcore.datasets.reading import SIGNS, Reading, TimeAxis, declared_times
from smpcore.datasets.series import guess_series, long_roles
from smpcore.datasets.series_features import Channel, feature_names
from smpcore.datasets.splits import Split, split
from smpcore.datasets.structure import (
    Proposal,
    Suggestion,
    check_fit,
    column_unit,
    find_duplicates,
    find_structure,
    leaky_features,
    suggest_codes,
    with_unit,
)
from smpcore.datasets.table_formats import (
    TABLE_ENDINGS,
    TABLE_FORMATS,
    make_dataset,
    read_frame,
    read_table,
)
from smpcore.datasets.time_to_event import (
    answered,
    event_values,
    event_within,
    guess_follow_up,
    horizons,
    likely_event,
    row_weights,
    training_rows,
)
from smpcore.datasets.writers import TABLE_WRITERS, as_csv
