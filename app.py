"""Sparse Prototype Explorer: ``streamlit run app.py``."""

import os

if __name__ == "__main__":  # the processes of studies import this module too
    # One core a visitor: threads that wait for their share of a small product take most
    # of the time of a fit. scikit-learn reads this when it is loaded.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

    from pages.ui import navigation

    navigation.run()
